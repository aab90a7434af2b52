// SPDX-License-Identifier: BSD-3-Clause
// Events about a group, for some processes wherever they live: each server gets those of its own processes,
// and no other server any. They are kept for handlers that are registered later, as all events are. The
// loop's thread only.
#pragma once

#include <string_view>

#include "core/link/requests.hpp"
#include "core/server/events/event_relay.hpp"
#include "core/server/groups/table/peer_calls.hpp"
#include "core/server/operations/operation_name.hpp"

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

  /// PMIX_GROUP_LEADER_SELECTED. leader: null: there is none in the place of the lost one.
  void tell_leader(std::string_view group, const pmix_proc_t* leader, const pmix_proc_t& lost,
                   const Procs& to);
  /// PMIX_GROUP_CONSTRUCT_ABORT, and why.
  void tell_abort(std::string_view group, const pmix_proc_t& source, pmix_status_t why, const Procs& to);
  /// The same for handlers that decide, where that operation of the group waits for it.
  static link::GroupQuestion question(OperationName::Kind kind, const What& what);

 private:
  static data::Infos infos_of(const What& what);
  static events::Event event_of(const What& what, const Procs& to, const data::Infos* more);

  EventRelay& events_;
  PeerCalls& peers_;
};

}  // namespace weft::server
