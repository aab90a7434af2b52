// SPDX-License-Identifier: BSD-3-Clause
// Which ranks are missing in what several processes do together besides fences, in whatever room it waits:
// for the stuck report, weftinfo, and the servers that are in it and ask. The loop's thread only.
#pragma once

#include <optional>
#include <vector>

#include "core/server/fences/fences.hpp"
#include "core/server/groups/invitation/invitations.hpp"
#include "core/server/groups/invitation/invited.hpp"
#include "core/server/groups/membership/bootstraps.hpp"
#include "core/server/groups/membership/memberships.hpp"
#include "core/server/groups/operation/gatherings.hpp"
#include "core/server/published/published.hpp"

namespace weft::server {

class GroupReports {
 public:
  struct Rooms {
    const Loop& loop;
    const Jobs& jobs;
    PeerCalls& peers;
    const Questions& questions;
    Operations& operations;
    Gatherings& gatherings;
    Bootstraps& bootstraps;
    Memberships& memberships;
    Invitations& invitations;
    Invited& invited;
    const Published& published;
  };
  explicit GroupReports(Rooms rooms);

  // As Fences tells it of fences.
  /// What a local participant has entered.
  std::vector<FencePart> open_parts() const;
  /// This node's part in an operation that another node has named. Nothing: processes that are not known
  /// here.
  std::optional<FencePart> part_in(const FenceName& name) const;
  /// In which local participants have waited for local participants for `limit`; each once.
  std::vector<Fences::Waiting> waiting_for(std::chrono::seconds limit);

 private:
  void answer_part(NodeNumber from, FenceName name, const Rpc::Reply& reply);
  void each_kept(const SeeWait& see) const;
  FencePart part_of(const KeptWait& wait) const;
  FencePart part_of(const Lookups::Wait& wait) const;

  const Rooms rooms_;
};

}  // namespace weft::server
