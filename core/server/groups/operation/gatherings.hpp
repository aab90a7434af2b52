// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Connect, PMIx_Disconnect, the construct and destruct of groups, and fences of groups: where the
// participants of this node meet. What follows when all have called is another room's (Operations). The
// loop's thread only.
//
//   gathering --(the last participant of this node)--> complete
//       |
//       +-----(a participant has ended or left; another node knows that it cannot end well)--> hopeless
//
// A construct whose members want to be asked (losses.hpp) goes on gathering while they are, and so does one
// that goes on with fewer. One that another node has asked about is open here before any participant has
// called, and so is one in which all that have called are lost.
//
// What ends for a lost participant ends for those of this node that have not called, too (OwedAnswers): one
// attempt has one end.
//
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/server/fences/fences.hpp"
#include "core/server/groups/handlers/losses.hpp"
#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/operation/groups.hpp"
#include "core/server/groups/operation/operations.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/groups/table/peer_calls.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/members.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

class Gatherings {
 public:
  struct Rooms {
    Jobs& jobs;
    const Host& host;
    PeerCalls& peers;
    GroupEvents& events;
    GroupBoards& boards;
    Losses& losses;
    Groups& groups;
    Operations& operations;
  };
  Gatherings(Loop& loop, OpenOperations& open, Rooms rooms);

  /// A participant has called, which may name the set in any order. Those of one kind and set belong
  /// together; of a group, those of its name. waited: at a board, before.
  void enter(const Requester& from, OperationName name, Procs procs, data::Infos directives,
             std::chrono::milliseconds waited = {});
  /// The same for the end and the fences of a group, whose members are known here.
  void enter_known(const Requester& from, OperationName name, data::Infos directives,
                   std::chrono::milliseconds waited);
  /// A member's notice about a board of groups (0: any), which may be none of its own.
  void look_at(const pmix_proc_t& member, store::BoardNumber number);

  /// A local process will not call any more: it has ended, or has finalized.
  void lose(const pmix_proc_t& proc, pmix_status_t status);
  /// What became of a process that has asked to leave that group is known: it may have ended meanwhile.
  void look_for_lost(const std::string& group);
  /// These groups have no live member of this node any more (Groups::process_ended()).
  void lose_groups(const std::vector<std::string>& names);
  /// A process has left a group with members here. before: the members until then.
  void left(const std::string& group, const pmix_proc_t& proc, const Procs& before, std::uint64_t series);
  /// Processes have joined a group with members here. before: the members until then.
  void joined(const std::string& group, const Procs& before, std::uint64_t series);
  /// The host ends the namespace: it is not called any more for what only processes of it have called.
  void forget(const std::string& nspace);
  /// Those of processes of this namespace, which is no more, and of others fail.
  void end_all_with(const std::string& nspace);
  /// An operation that is with the other nodes, or goes on without those that are lost, has processes of this
  /// namespace and of others.
  bool is_any_under_way_with(const std::string& nspace) const;

  // Which ranks are missing, as Fences tells it of fences.
  std::vector<FencePart> open_parts() const;
  /// In which local participants have waited for local participants for `limit`; each once.
  std::vector<Fences::Waiting> waiting_for(std::chrono::seconds limit);
  /// This node's part in an operation that another node has named. Nothing: processes that are not known
  /// here, or no operation at which they meet.
  std::optional<FencePart> part_in(const FenceName& name) const;
  /// Another node is in this operation and asks whether this node's part of it has come, or will. If a
  /// participant of this node was lost before any has called, it never will: then it ends at all nodes, or
  /// this node takes part for those that are lost.
  void take_inquiry(const FenceName& name);

 private:
  void enter(OperationName name, Procs set, Arrival arrival, bool goes_on_smaller);
  void tell_others(const Operation& operation, const Arrival& arrival);
  OperationRef add(Operation operation) {
    note_meeting(rooms_.jobs, operation.set);
    return open_.add(std::move(operation), loop_.now());
  }
  bool is_complete(const Operation& operation) const;
  void leave_out_lost(Operation& operation) const;
  struct Lost {
    pmix_proc_t proc;
    pmix_status_t status;
  };
  std::vector<Lost> lost_of(const Operation& operation) const;
  void look_for_lost(const OperationRef& operation);
  void lose_in(const OperationRef& operation, const Lost& lost);
  void lose_leader(const pmix_proc_t& proc, pmix_status_t status);
  void decided(const OperationRef& operation, const pmix_proc_t& proc, const Losses::Outcome& outcome);
  Procs without(const Procs& set, const pmix_proc_t& proc) const;
  void take_part_in_end(const std::string& group);
  void take_part_without(const FenceName& name, const Procs& set);
  void fail_for_all(const OperationRef& operation, OperationEvent event, pmix_status_t status,
                    const pmix_proc_t& lost);
  Result<Operation> construct_in(const Result<FenceName>& name) const;
  void take_abort(Bytes body, const Rpc::Reply& reply);
  void take_unknown(Bytes body, const Rpc::Reply& reply);
  bool is_between_nodes(const Operation& operation) const;
  FenceName next_name_of(const Operation& operation) const;
  FencePart part_of(const Operation& operation) const;

  Loop& loop_;
  OpenOperations& open_;
  const Rooms rooms_;
};

}  // namespace weft::server
