// SPDX-License-Identifier: BSD-3-Clause
// Events about a group, for some processes wherever they live: each server gets those of its own processes,
// and no other server any. They are kept for handlers that are registered later, as all events are. The
// loop's thread only.
#pragma once

#include <string_view>

#include "core/server/events/event_relay.hpp"
#include "core/server/groups/table/peer_calls.hpp"

namespace weft::server {

class GroupEvents {
 public:
  GroupEvents(EventRelay& events, PeerCalls& peers);

  struct What {
    pmix_status_t code = PMIX_SUCCESS;
    pmix_proc_t source{};
    std::string_view group;
    const link::RankRuns* members = nullptr;  ///< PMIX_GROUP_MEMBERSHIP; null: without
    const pmix_proc_t* about = nullptr;       ///< PMIX_EVENT_AFFECTED_PROC; null: no process in particular
  };
  /// more: copied for each node; null: none.
  void tell(const What& what, const Procs& to, const data::Infos* more = nullptr);

  /// The infos that every event or question about a group has.
  static data::Infos infos_of(const What& what);

 private:
  static events::Event event_of(const What& what, const Procs& to, const data::Infos* more);

  EventRelay& events_;
  PeerCalls& peers_;
};

}  // namespace weft::server
