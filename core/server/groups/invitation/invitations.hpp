// SPDX-License-Identifier: BSD-3-Clause
// Groups by invitation, at the server of the process that invites, its leader: which processes come, what the
// leader decides about those that do not, and what becomes of it all when the leader fails. The other side is
// invited.hpp. The loop's thread only.
//
//   PMIx_Group_invite -> group_invitation to the servers of those invited -> PMIX_GROUP_INVITED ->
//   PMIx_Group_join -> group_answer; all have answered, or are left out -> the group is made here ->
//   group_over to all of these servers, and the leader's reply
//
// A process that fails or declines is one of the events of invitation_steps.hpp. The server stays the
// coordinator when the leader has ended; when its node is lost, a view names another one (invited.hpp).
// Source: RFC 0033; PMIx Standard, chapter "Process Sets and Groups".
#pragma once

#include <map>
#include <memory>

#include "core/server/groups/handlers/decisions.hpp"
#include "core/server/groups/invitation/invitation.hpp"
#include "core/server/groups/membership/memberships.hpp"
#include "core/server/groups/operation/groups.hpp"
#include "core/server/groups/table/group_events.hpp"
#include "core/server/groups/table/kept_wait.hpp"
#include "core/server/operations/latest.hpp"

namespace weft::server {

class Invitations {
 public:
  Invitations(Loop& loop, PeerCalls& peers, Questions& questions, GroupEvents& events, Groups& groups,
              Memberships& memberships);

  void invite(const Requester& from, link::GroupInvite message);
  /// A process of any node has ended, or has finalized.
  void lose(const pmix_proc_t& proc);
  /// What a view has decided about one whose coordinator, and leader, is lost. Where this server is to
  /// coordinate it, and does not already, a leader is looked for.
  void settle(const InvitationItem& item);
  /// A process raises PMIX_GROUP_CONSTRUCT_ABORT for that group: without effect but by its leader.
  void abort(const pmix_proc_t& by, std::string_view group);

  /// Invitations that are under way here.
  void each_wait(const SeeWait& see);

 private:
  using Ref = std::shared_ptr<Invitation>;
  /// What an event is about.
  struct Cause {
    Invitee* invitee = nullptr;
    pmix_status_t status = PMIX_SUCCESS;
    Procs procs{};  ///< replacements, or the new leader
  };

  void open(const Ref& invitation, const InvitationName& name);
  void adopt(const InvitationItem& item);
  pmix_status_t begin(const Requester& from, const link::GroupInvite& message, Invitation& out) const;
  void step(const Ref& invitation, InvitationEvent event, Cause cause);
  void admit(const Ref& invitation, Invitee& invitee);
  void send(const Ref& invitation, const Procs& procs);
  void ask_leader(const Ref& invitation, Invitee& invitee, pmix_status_t code);
  void replace(const Ref& invitation, Invitee& invitee, const Procs& by);
  void decide(const Ref& invitation, const pmix_proc_t& about, const pmix_proc_t& by, Decision decision);
  void elect(const Ref& invitation);
  void elected(const Ref& invitation, const std::vector<Questions::Vote>& votes);
  void follow(const Ref& invitation, const pmix_proc_t& leader);
  void look(const Ref& invitation);
  void make(const Ref& invitation);
  void fail(const Ref& invitation, pmix_status_t status);
  void conclude(const Ref& invitation, pmix_status_t status, const MadeGroup& made);
  void take_answer(NodeNumber from, InvitationAnswer answer, const Rpc::Reply& reply);
  AnswerReply::Outcome take(NodeNumber from, InvitationAnswer answer);

  Loop& loop_;
  PeerCalls& peers_;
  Questions& questions_;
  GroupEvents& events_;
  Groups& groups_;
  Memberships& memberships_;
  /// An answer of a server that has heard earlier than this one that this one coordinates the invitation.
  struct Early {
    NodeNumber from;
    InvitationAnswer answer;
  };

  std::map<InvitationName, Ref> open_;
  /// Have ended, for answers that cross the end. The process that answers to a forgotten one is not invited.
  Latest<InvitationName, bool, 1024> over_;
  std::vector<Early> early_;
  std::uint64_t last_ = 0;
};

}  // namespace weft::server
