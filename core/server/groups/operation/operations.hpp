// SPDX-License-Identifier: BSD-3-Clause
// What becomes of an operation when the participants of this node have met in it, or cannot: by the table of
// operation_steps.hpp. On one node it ends there; else each attempt is one exchange of the servers, under a
// signature of its own, so that fences of the same processes and operations of other groups cannot mix with
// it. Where the host makes such operations it does the rest. The loop's thread only.
//
// Generations   As those of fences (Exchanges): an attempt that fails on one node is refused there, so that
//               the attempts of all nodes pair up, and members of it that have not called get its end with
//               their next call (OwedAnswers). One attempt has one end: where another node has ended it
//               before, that holds here. One that another node gave up for its time-out, or for other
//               members, before this node came to it is passed over.
// Agreement     The name and the set make the signature. Nodes whose members named other members are in two
//               collectives that wait for ever; each looks once a second for another of the same name
//               (Exchanges::end_rivals), and ends both.
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/server/fences/exchange/card_exchange.hpp"
#include "core/server/groups/handlers/losses.hpp"
#include "core/server/groups/open/early_messages.hpp"
#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/open/owed_answers.hpp"
#include "core/server/groups/operation/groups.hpp"
#include "core/server/host/host.hpp"

namespace weft::server {

class Operations {
 public:
  struct Rooms {
    Jobs& jobs;
    Host& host;
    CardExchange& cards;
    Exchanges& exchanges;
    PeerCalls& peers;
    GroupBoards& boards;
    Groups& groups;
    Losses& losses;
    EarlyMessages& early;
  };
  Operations(Loop& loop, OpenOperations& open, Rooms rooms);

  // What moves an operation.
  /// The participants of this node have come, or are left out.
  void complete(const OperationRef& operation);
  /// why: the status of the answers. event: none of those that an attempt brings.
  void end(const OperationRef& operation, OperationEvent event, pmix_status_t why);
  /// An arrival has brought a deadline, which may be the earliest.
  void watch_deadline(const OperationRef& operation, data::Deadline deadline);
  /// A member has left: fences and destructs of the group that are with the other nodes begin again among
  /// those that are left, or fail. now: its members since, and `fence` what they call theirs.
  /// Its own node knows whether its part in them has come: then they end as they began.
  void lose_member(const OperationName& fence, const Procs& now, const pmix_proc_t& gone);
  /// Another node is in this operation of the members that its group has now. One of the members before, that
  /// is with the other nodes, begins again among these. True: there is one.
  bool goes_over_to(const OperationName& name);
  /// Attempts before that of another node have failed without this node, which has no process that may call.
  void refuse_before(const Operation& operation, collectives::Generation generation);
  /// To all other nodes: handlers have decided that this attempt of a construct is aborted (Gatherings).
  void tell_aborted(const FenceName& construct, const Procs& set);

  // At boards.
  /// Members of this node have come to their board. What is not plain becomes a message of each.
  void run_at_board(GroupBoards::Full full);
  /// A message of a process that has been in that operation at a board, or that is owed its end: it is taken.
  bool takes(const Requester& from, const OperationName& name, const Procs& set,
             const data::Infos& directives, data::Deadline deadline);
  /// Members of the set that were in that operation at a board, and whose messages for it are to come.
  /// adjusts: those of a fence with PMIX_GROUP_FT_COLLECTIVE, and else those without.
  Procs sent_away(const OperationName& name, const Procs& set, bool adjusts) const;
  /// A process of this node has ended, or all of a namespace.
  void lose_at_boards(const pmix_proc_t& proc);

  // What is known of them.
  /// Attempts of this operation that have begun or failed here.
  std::uint64_t attempts(const Operation& operation) const;
  bool is_by_host(const Operation& operation) const noexcept;
  bool has_other_nodes(const Procs& set) const;
  /// PMIx_Connect has returned for these processes, and PMIx_Disconnect has not.
  bool are_connected(const Procs& set) const { return connected_.count(link::runs_of(set)) != 0; }
  std::vector<NodeNumber> nodes_connected_with(const pmix_proc_t& proc) const;
  /// For lost members of this node, in what another node has asked about: not with others than the members
  /// that the group has now, and not twice. Constructs have no group yet.
  bool may_take_part_in(const Operation& operation) const;
  /// Operations that are under way between the nodes, as Fences::open_parts().
  std::vector<FencePart> open_parts() const;

  /// The namespace has ended here.
  void forget(const std::string& nspace);
  /// No collective begins from here on: the cluster ends.
  void stop_exchanging() noexcept { may_exchange_ = false; }

 private:
  void tell_connected(const Procs& set, bool are_connected);
  /// How it has ended, or goes on.
  struct Cause {
    pmix_status_t status = PMIX_SUCCESS;
    std::vector<GroupPart> parts{};  ///< of an attempt that has succeeded, in the order of the nodes
    data::Infos infos{};             ///< of a host's reply
    data::Value value{};             ///< the same
  };
  void step(const OperationRef& operation, OperationEvent event, Cause cause);
  void step(const OperationRef& operation, OperationEvent event) { step(operation, event, Cause()); }
  pmix_status_t reason_against(const Operation& operation) const;

  void exchange(const OperationRef& operation);
  void exchanged(const OperationRef& operation, CardExchange::End end);
  Result<std::vector<GroupPart>> parts_of(const Operation& operation, const CardExchange::End& ended) const;
  void finish(const Operation& operation, const std::vector<GroupPart>& parts);
  void finish_construct(const Operation& operation, const std::vector<GroupPart>& parts);
  void fail(const OperationRef& operation, pmix_status_t why);
  void refuse(const OperationRef& operation, pmix_status_t why);
  void refuse_attempt(const OperationRef& operation, pmix_status_t why);
  void begin_again(const OperationRef& operation);
  static bool is_others_alone(const Exchanges::End& ended, pmix_status_t why) noexcept;
  bool carries_parts(const Operation& operation) const;
  bool adjust(Operation& operation);
  bool has_others_by_now(const Operation& operation) const;
  bool is_of_ended_group(const Operation& operation) const;
  void watch_rivals();
  void set_timer(const OperationRef& operation);

  bool is_of_members(const Operation& operation) const;
  bool may_be_called(const Operation& operation) const;
  bool owe(Operation& operation, pmix_status_t why);
  bool may_refuse(const Participants& participants) const;
  void refuse_next(const Participants& participants, pmix_status_t why);

  bool goes_on_after(const OperationRef& operation, const collectives::Loss& loss);
  void leave_out_lost(Operation& operation) const;
  void tell_unknown(const Operation& construct) const;
  void ask_handlers(const OperationRef& operation);
  Procs members_on(NodeNumber node, const Procs& set) const;

  void call_host(const OperationRef& operation);
  void tell_host(Operation& operation, pmix_status_t why);
  using Replied = std::function<void(pmix_status_t, data::Infos)>;
  void call_host(Operation& operation, Replied replied);

  void answer(const Operation& operation, const link::Answer& answer);
  void answer_member(const Operation& operation, const Arrival& arrival, pmix_status_t status);
  std::optional<link::GroupMembers> offer_board(const Operation& operation, const GroupOutcome& outcome);

  Loop& loop_;
  OpenOperations& open_;
  const Rooms rooms_;
  OwedAnswers owed_;
  std::multiset<link::RankRuns> connected_;
  bool may_exchange_ = true;
  std::unique_ptr<Timer> rival_timer_;  ///< while one is with the other nodes
};

}  // namespace weft::server
