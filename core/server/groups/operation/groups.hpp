// SPDX-License-Identifier: BSD-3-Clause
// Groups that the servers make, and processes that they connect: what becomes of a construct, destruct,
// connect or disconnect when the participants of this node have met. On one node it
// ends there; else it is one exchange of the servers, under a signature of its own, so that fences of the
// same processes and operations of other groups cannot mix with it. The host hears nothing. The loop's thread
// only.
//
// Generations   As those of fences (Exchanges): an attempt that fails on one node is refused there, so that
//               the attempts of all nodes pair up, and members of it that have not called get its end with
//               their next call (Gatherings). One that another node gave up for its time-out, or for other
//               members, before this node came to it is passed over.
// Agreement     The name and the set make the signature. Nodes whose members named other members are in two
//               collectives that wait for ever; each looks once a second for another of the same name
//               (Exchanges::end_rivals), and ends both.
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/fences/exchange/card_exchange.hpp"
#include "core/server/groups/handlers/losses.hpp"
#include "core/server/groups/open/board_meetings.hpp"
#include "core/server/groups/open/open_operations.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/groups/table/group_part.hpp"
#include "core/server/groups/table/group_table.hpp"
#include "core/server/groups/table/peer_calls.hpp"

namespace weft::server {

class Groups {
 public:
  /// server: the upper half of context identifiers.
  Groups(Loop& loop, Jobs& jobs, Gets& gets, CardExchange& cards, Exchanges& exchanges, GroupEvents& events,
         PeerCalls& peers, GroupBoards& boards, GroupTable& table, OpenOperations& operations, Losses& losses,
         std::uint32_t server);

  GroupTable& table() noexcept { return table_; }
  GroupBoards& boards() noexcept { return boards_; }

  /// All participants of this node have come, or are left out: answers them when the operation has ended.
  void run(Meeting meeting);
  /// The same of members of this node that have come to their board. What is not plain becomes a message of
  /// each.
  void run_at_board(GroupBoards::Full full);
  /// A call by message of a process that has been in that operation at a board: it is taken. set: of a
  /// construct, else null.
  bool takes(const Requester& from, Meeting::Kind kind, const std::string& group, const Procs* set,
             const data::Infos& directives, data::Deadline deadline);
  /// A member has left: those that were in that operation at a board, and whose messages have not come, get
  /// PMIX_ERR_UNREACH when they come. set: of its members before. is_told: the other nodes know already that
  /// this attempt has failed here.
  void end_at_boards(Meeting::Kind kind, const std::string& group, const Procs& set, bool is_told);
  /// Members of the set were at a board with a fence of the group, and their messages for it are to come.
  bool has_fence_from_boards(const std::string& group, const Procs& set) const;
  /// A process of this node has ended, or all of a namespace.
  void lose_at_boards(const pmix_proc_t& proc);
  /// A fence of the group is one of its members, which the host carries.
  bool fences_by_host(const link::RankRuns& members) const;
  /// It fails on this node: answers those that have come, if any, and ends the operation at the other nodes.
  void fail(const Meeting& meeting, pmix_status_t why);
  Participants participants_of(const Meeting& meeting) const;
  /// Attempts of this operation that have begun or failed here.
  std::uint64_t attempts(const Participants& participants) const;
  bool has_other_nodes(const Procs& set) const;
  /// PMIx_Connect has returned for these processes, and PMIx_Disconnect has not.
  bool are_connected(const Procs& set) const { return connected_.count(link::runs_of(set)) != 0; }
  /// With each job that is named as a whole spelt by its ranks, in the order of `procs`.
  link::RankRuns by_rank(const Procs& procs) const;
  /// As the members of a group are compared: a job that is named rank by rank is the same as its wildcard.
  Procs set_of_group(const Procs& procs) const;
  /// Those that are with the other nodes, and in which this process of this node has declared itself leader.
  std::vector<std::pair<FenceName, const Meeting*>> constructs_led_by(const pmix_proc_t& proc) const;
  /// A construct whose handlers are asked whether it goes on without a lost node ends here, and for those
  /// that wait for this node's part. False: there is none.
  bool stop_asking(const OperationName& construct, const Procs& set, pmix_status_t why);
  /// To all other nodes: handlers have decided that this attempt of a construct is aborted (Gatherings).
  void tell_aborted(const FenceName& construct, const Procs& set);
  /// One that is with the other nodes ends there, at all of them.
  void abort(const Exchanges::Key& key, pmix_status_t why) {
    if (operations_.with_nodes.count(key) != 0) exchanges_.abort(key, why);
  }
  /// A member has left: fences and destructs of the group that are with the other nodes begin again among
  /// those that are left, or fail. now: its members since.
  /// Its own node knows whether its part in them has come: then they end as they began.
  void end_exchanges_of(const std::string& group, const Procs& now, const pmix_proc_t& gone);
  /// For lost members of this node, in what another node has asked about: not with others than the members
  /// that the group has now, and not twice. Constructs have no group yet.
  bool may_take_part_in(const Meeting& meeting) const;
  /// Operations that are under way between the nodes, as Fences::open_parts().
  std::vector<FencePart> open_parts() const;

  /// A process has ended, or has finalized: groups that asked for it tell their members here. Returns its
  /// groups that have no live member of this node any more.
  std::vector<std::string> process_ended(const pmix_proc_t& proc);
  /// The namespace has ended here.
  void forget(const std::string& nspace);
  /// A group that no process of this node is in; also one whose members here have ended, unless it may live
  /// on elsewhere.
  void drop(const std::string& name);

  // Groups that are made, or changed, by one server for all (Invitations, Memberships).
  /// As another server sends it. Errors: corrupt.
  Result<MadeGroup> made_in(Bytes bytes) const;
  /// It is known here from now on, with what its members gave; of one that is known: if it is newer.
  void take(const MadeGroup& made);
  /// The same, told to its members of this node and to those that have left. False: it is not newer.
  bool take_change(const MadeGroup& made, const Procs& left);
  /// A construct of that name is with the other nodes: some of them may know the group before this one does.
  bool is_constructing(const std::string& name) const {
    return operations_.is_with_nodes(name, Meeting::Kind::construct);
  }
  /// Called when a construct has ended here, well or not.
  void on_constructed(std::function<void(const std::string& name)> constructed) {
    constructed_ = std::move(constructed);
  }
  /// Answers a process of this node: it is a member, or why it is not.
  void admit(const Requester& from, pmix_status_t status, const MadeGroup& made);
  /// An identifier that no other group of the cluster has.
  std::uint64_t next_context() noexcept { return (std::uint64_t{server_} << 32) | ++last_context_; }
  /// No collective begins from here on: the cluster ends.
  void stop_exchanging() noexcept { may_exchange_ = false; }

 private:
  bool are_all_here(const Procs& set) const;
  Procs sent_away(std::uint64_t tag, Meeting::Kind kind, const std::string& group, const Procs& set) const;
  GroupPart part_of(const Meeting& meeting);
  void exchange(const OperationRef& operation);
  void watch_deadline(const OperationRef& operation);
  void answer(const Meeting& meeting, const link::Answer& answer);
  void exchanged(const OperationRef& operation, CardExchange::End end);
  void finish(const OperationRef& operation, const CardExchange::End& ended);
  void watch_rivals();
  bool adjust(Operation& operation);
  bool is_of_ended_group(const Meeting& meeting) const;
  void end(const Meeting& meeting, const std::vector<GroupPart>& parts);
  void conclude(const Meeting& meeting, MadeGroup made, pmix_status_t status,
                const link::GroupMembers& members);
  void tell_constructed(const Meeting& meeting);
  void tell_absent(const std::string& name, const std::vector<GroupPart>& parts);
  bool carries_parts(const Meeting& meeting) const;
  bool goes_on_after(const OperationRef& operation, const collectives::Loss& loss);
  void ask_handlers(const OperationRef& operation, NodeNumber lost);
  bool is_asking(const OperationRef& operation) const {
    return std::find(operations_.asking.begin(), operations_.asking.end(), operation) !=
           operations_.asking.end();
  }
  void give_up(const OperationRef& operation, pmix_status_t why);
  void refuse(const OperationRef& operation, pmix_status_t why);
  Procs members_on(NodeNumber node, const Procs& set) const;
  void leave_out_lost(Operation& operation) const;
  void begin_again(const OperationRef& operation);
  void tell_made(const std::string& name, const Group& group, pmix_status_t status);
  void tell_earlier_ends(const std::string& name, const Group& group, const link::RankRuns& known = {});
  std::optional<link::GroupMembers> offer_board(const Meeting& meeting, const GroupOutcome& outcome);
  void store(const MadeGroup& made);
  bool store(const MemberData& data, std::uint64_t context_id);
  bool has_live_members(const Group& group, const pmix_proc_t& ended) const;
  bool lives_elsewhere(const Group& group) const;
  void tell_members(pmix_status_t code, const std::string& name, const Group& group,
                    const pmix_proc_t& about);
  void tell_clients(const MadeGroup& made, const Procs& left);
  NodeNumber keeper_of(const link::RankRuns& members) const;
  Procs local_members(const Group& group) const;

  Loop& loop_;
  Jobs& jobs_;
  Gets& gets_;
  CardExchange& cards_;
  Exchanges& exchanges_;
  GroupEvents& events_;
  PeerCalls& peers_;
  GroupBoards& boards_;
  BoardMeetings board_meetings_{boards_};
  const std::uint32_t server_;
  GroupTable& table_;
  OpenOperations& operations_;
  Losses& losses_;
  std::function<void(const std::string&)> constructed_;
  std::multiset<link::RankRuns> connected_;
  std::uint32_t last_context_ = 0;
  bool may_exchange_ = true;
  std::unique_ptr<Timer> rival_timer_;  ///< while an operation is under way
};

}  // namespace weft::server
