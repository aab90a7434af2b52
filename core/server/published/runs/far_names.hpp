// SPDX-License-Identifier: BSD-3-Clause
// At a guest: names of SESSION and GLOBAL, which the keeper of this run hands on to the run that keeps them.
// What has been published there is noted here without its value, so that it ends with the node or namespace
// of its publisher. The loop's thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "core/server/published/name_messages.hpp"
#include "core/server/published/runs/names_link.hpp"

namespace weft::server {

class FarNames {
 public:
  using Found = std::function<void(pmix_status_t status, LookedUp found)>;

  explicit FarNames(NamesLink& link) : link_(link) {}

  /// This run is a guest.
  bool is_used() const noexcept { return link_.is_used(); }
  /// published: how it ended; never inside of this call, as everywhere here.
  void publish(const PublishNames& message, Done published);
  /// Takes back those of these names that are noted. forgotten: null: no process waits for that. False: none
  /// is, and forgotten() does not come.
  bool forget(NodeNumber origin, const ForgetNames& message, Done forgotten);
  /// Returns what names the lookup in end_wait(). found: as many as the message has keys, on PMIX_SUCCESS.
  std::uint64_t look_up(NodeNumber from, const LookUpNames& message, Found found);
  void end_wait(std::uint64_t lookup) { link_.end_wait(lookup); }
  /// The other run says so.
  void take(const link::GuestTaken& taken);
  /// Takes back what this says of its publication.
  void forget_if(const std::function<bool(const Publication&)>& has_ended);

 private:
  struct Noted {
    std::shared_ptr<const Publication> by;
    std::set<std::string> keys;
  };
  using Call = std::pair<NodeNumber, std::uint64_t>;  ///< origin, number
  void tell(NodeNumber origin, const ForgetNames& message, Done forgotten);
  void drop(const Call& call, const std::string& key);

  NamesLink& link_;
  std::map<Call, Noted> noted_;
};

}  // namespace weft::server
