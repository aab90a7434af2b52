// SPDX-License-Identifier: BSD-3-Clause
// The names that a server keeps, by key. A data structure: it sends nothing and waits for nothing.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/server/published/name.hpp"
#include "pmix_common.h"

namespace weft::server {

class KeptNames {
 public:
  /// most_bytes: by Name::weight().
  explicit KeptNames(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}

  /// All of them, or none: PMIX_ERR_DUPLICATE_KEY, PMIX_ERR_OUT_OF_RESOURCE.
  pmix_status_t add(const std::vector<NameRef>& names);
  /// The narrowest that is seen; where none is, whether one is hidden.
  std::pair<Sight, NameRef> look(const std::string& key, const Looker& looker) const;
  /// Null: it is not here.
  NameRef find(const std::string& key, NodeNumber origin, std::uint64_t number) const;
  void erase(const std::string& key, NodeNumber origin, std::uint64_t number);
  /// Looks at all of them.
  template <class Unwanted>
  void erase_if(Unwanted&& unwanted) {
    for (auto each = by_key_.begin(); each != by_key_.end();) {
      const auto entry = each++;
      std::erase_if(entry->second, [&](const NameRef& name) { return unwanted(*name) && give_back(*name); });
      if (entry->second.empty()) by_key_.erase(entry);
    }
  }

  /// In no order.
  template <class See>
  void each(See&& see) const {
    for (const auto& [key, names] : by_key_)
      for (const auto& name : names) see(*name);
  }
  std::size_t size() const noexcept { return size_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  bool is_taken(const Name& name) const;
  bool give_back(const Name& name) noexcept;

  const std::size_t most_bytes_;
  std::unordered_map<std::string, std::vector<NameRef>> by_key_;
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace weft::server
