// SPDX-License-Identifier: BSD-3-Clause
// What the processes of this node have published and not taken back, by publisher, whichever server keeps it:
// what ends with a process or a namespace is found here, and what a lost keeper has kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/server/published/name.hpp"

namespace weft::server {

class OwnNames {
 public:
  void add(const NameRef& name);
  void erase(const Name& name) { erase(name.by->nspace, name.by->rank, name.key, name.by->number); }
  void erase(const std::string& nspace, std::uint32_t rank, const std::string& key, std::uint64_t number);
  /// A process has read a name that goes with that; perhaps before add().
  void take(const pmix_proc_t& publisher, const std::string& key, std::uint64_t number);
  /// Hears of each take().
  using Taken = std::function<void(const std::string& key, std::uint64_t number)>;
  void on_taken(Taken taken) { taken_ = std::move(taken); }
  /// Of that publisher and key, in all spaces.
  std::vector<NameRef> find(const pmix_proc_t& publisher, const std::string& key) const;
  std::vector<NameRef> all_of(const pmix_proc_t& publisher) const;
  std::vector<NameRef> all_of(const std::string& nspace) const;
  std::vector<NameRef> all() const;
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  using Keys = std::unordered_multimap<std::string, NameRef>;
  std::map<std::string, std::map<std::uint32_t, Keys>, std::less<>> by_publisher_;
  std::size_t bytes_ = 0;
  Taken taken_;
};

}  // namespace weft::server
