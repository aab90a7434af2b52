// SPDX-License-Identifier: BSD-3-Clause
// The processes of this node that are invited to a group, and what they answer. The coordinator's side is
// invitations.hpp. The loop's thread only.
//
// The call of a process that accepts waits until the coordinator says how the invitation has ended
// (group_over). When the coordinator's node is lost a view says it in its place (cluster/views.hpp):
//
//   one of the servers has heard how it has ended     so it has ended for all
//   none has                                          a coordinator is named, the lowest node with processes
//                                                     that may still come: their answers go there, once more
//
// Each message of an invitation carries what a coordinator has to know, and each server keeps it.
// Source: RFC 0033, "leader failure".
#pragma once

#include <list>
#include <memory>
#include "core/server/loop/loop.hpp"

#include "core/server/groups/invitation/invitations.hpp"
#include "core/server/groups/membership/memberships.hpp"
#include "core/server/groups/operation/groups.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

class Invited final : ViewRoomOf<InvitationItem> {
 public:
  /// So many are remembered, with their ends. Beyond that the oldest are forgotten: a process that answers
  /// then gets PMIX_ERR_NOT_FOUND, and of a lost coordinator's invitation this server knows nothing.
  static constexpr std::size_t most_known = 1024;

  Invited(Loop& loop, const Jobs& jobs, PeerCalls& peers, GroupEvents& events, Groups& groups,
          Memberships& memberships, Invitations& invitations, EarlyMessages& early);

  /// A process answers an invitation.
  void join(const Requester& from, const link::GroupJoin& message);
  /// A process of this node has ended, or has finalized.
  void lose(const pmix_proc_t& proc);

  /// An invitation that another node has named waits for the answer of that process of this node.
  bool is_awaited(const FenceName& name, const pmix_proc_t& proc) const;
  /// Processes of this node that have accepted, and have not heard what came of it.
  std::size_t joining() const noexcept;

 private:
  /// A process that has accepted.
  struct Joining {
    Requester from;
    InvitationAnswer answer;
    bool is_late = false;  ///< its deadline has passed, and it has its reply
    std::unique_ptr<Timer> deadline{};
    EarlyMessages::Expected group{};  ///< that is new; members that an invitation adds hear of a change of it
  };
  using JoiningRef = std::shared_ptr<Joining>;
  struct Entry {
    pmix_proc_t proc;
    JoiningRef joining{};  ///< null: it has not answered
  };
  /// An invitation with processes of this node.
  struct Known {
    InvitationMessage told;  ///< the last
    NodeNumber coordinator = 0;
    std::list<Entry> entries{};  ///< until the process has heard how it ends, or has ended or declined
    std::optional<InvitationEnd> end{};
    std::optional<InvitationEnd> early_end{};  ///< by a coordinator that this server has not heard of yet
    std::vector<InvitationAnswer> held{};      ///< answers for the coordinator that follows a lost one
  };

  void take(NodeNumber from, InvitationMessage message, const Rpc::Reply& reply);
  void take_end(NodeNumber from, InvitationEnd over, const Rpc::Reply& reply);
  std::pair<Known*, std::list<Entry>::iterator> find(const pmix_proc_t& proc, const link::GroupJoin& message);
  void accept(const Known& known, Entry& entry, const Requester& from, const link::GroupJoin& message);
  void answer(Known& known, const pmix_proc_t& proc, InvitationAnswer::Kind kind);
  void send(const Known& known, const InvitationAnswer& answer);
  void watch_deadline(const JoiningRef& joining, data::Deadline until);
  void refused(const InvitationAnswer& answer);
  void end(const InvitationEnd& end);
  void end(const JoiningRef& joining, const std::optional<MadeGroup>& made, pmix_status_t else_status);
  void follow(Known& known, NodeNumber coordinator);
  bool may_come(const pmix_proc_t& proc) const;
  static bool is_open(const Known& known) { return !known.end && !known.entries.empty(); }

  bool has_undecided() const override;
  std::vector<InvitationItem> items() const override;
  void settle(std::vector<InvitationItem> decided) override;

  Loop& loop_;
  const Jobs& jobs_;
  PeerCalls& peers_;
  GroupEvents& events_;
  Groups& groups_;
  Memberships& memberships_;
  Invitations& invitations_;
  EarlyMessages& early_;
  Latest<InvitationName, Known, most_known> known_;  ///< those that are open are not forgotten
};

}  // namespace weft::server
