// SPDX-License-Identifier: BSD-3-Clause
// Invitations: what the leader decides about processes that do not come, and which process leads when the
// leader has failed.
#include <algorithm>

#include "core/server/groups/invitation/invitations.hpp"

namespace weft::server {
namespace {

using Event = InvitationEvent;

}  // namespace

// ---- what the leader decides

void Invitations::ask_leader(const Ref& invitation, Invitee& invitee, pmix_status_t code) {
  const auto members = invitation->members();
  auto question = GroupEvents::question(OperationName::Kind::invitation,
                                        {code, invitee.proc, invitation->group, &members, &invitee.proc});
  const bool is_about_acceptance = code == PMIX_GROUP_INVITE_ACCEPTED;
  questions_.ask(invitation->leader, std::move(question),
                 [this, weak = std::weak_ptr(invitation), about = invitee.proc, by = invitation->leader,
                  is_about_acceptance](const link::GroupVerdict& verdict) {
                   const auto open = weak.lock();
                   if (!open || open->state == InvitationState::ended) return;
                   auto decision = decision_of(verdict);
                   if (!is_about_acceptance) return decide(open, about, by, std::move(decision));
                   --open->open_questions;
                   if (decision.kind == Decision::Kind::gone) return;  // the loss of the leader is on its way
                   if (decision.kind == Decision::Kind::aborted) return step(open, Event::aborted, {});
                   look(open);
                 });
}

/// by: the leader that was asked. The word of a process that is not the leader any more does not count: the
/// next leader is asked.
void Invitations::decide(const Ref& invitation, const pmix_proc_t& about, const pmix_proc_t& by,
                         Decision decision) {
  auto* invitee = invitation->find(about);
  const bool is_open = invitee != nullptr && invitee->state == Invitee::State::missing;
  if (!is_open || !link::is_same(invitation->leader, by)) return;
  switch (decision.kind) {
    case Decision::Kind::gone:
      return;  // the loss of the leader is on its way
    case Decision::Kind::unheard:
      return step(invitation, Event::undecided, {invitee});
    case Decision::Kind::left_out:
      return step(invitation, Event::left_out, {invitee});
    case Decision::Kind::replaced:
      return step(invitation, Event::replaced, {invitee, PMIX_SUCCESS, std::move(decision.replacements)});
    case Decision::Kind::aborted:
      return step(invitation, Event::aborted, {invitee});
  }
}

/// Of the replacements the first takes the place, and so the group rank. Those that cannot be reached are as
/// if they had failed.
void Invitations::replace(const Ref& invitation, Invitee& invitee, const Procs& by) {
  invitee.state = Invitee::State::out;
  const auto place = &invitee - invitation->invitees.data();
  Procs fresh;
  for (const auto& proc : by) {
    if (proc.rank > PMIX_RANK_VALID || !peers_.node_of(proc)) continue;
    auto* in_place_of = fresh.empty() ? &invitation->invitees[static_cast<std::size_t>(place)] : nullptr;
    if (invitation->add(proc, in_place_of)) fresh.push_back(proc);
  }
  send(invitation, fresh);
  look(invitation);
}

// ---- the leader has failed

void Invitations::elect(const Ref& invitation) {
  const auto make_question = [invitation] {
    const auto& lost = invitation->leader;
    const auto members = invitation->members();
    return GroupEvents::question(OperationName::Kind::invitation,
                                 {PMIX_GROUP_LEADER_FAILED, lost, invitation->group, &members, &lost});
  };
  questions_.ask_all(invitation->participants(), make_question,
                     [this, weak = std::weak_ptr(invitation)](const std::vector<Questions::Vote>& votes) {
                       const auto open = weak.lock();
                       if (open && open->state == InvitationState::electing) elected(open, votes);
                     });
}

void Invitations::elected(const Ref& invitation, const std::vector<Questions::Vote>& votes) {
  auto election = election_of(votes);
  if (election.is_aborted) return step(invitation, Event::aborted, {});
  std::erase_if(election.leaders, [&](const pmix_proc_t& proc) {
    const auto* invitee = invitation->find(proc);
    return invitee->state != Invitee::State::asked && invitee->state != Invitee::State::coming;
  });
  if (!election.leaders.empty())
    return step(invitation, Event::elected, {nullptr, PMIX_SUCCESS, {election.leaders.front()}});
  events_.tell_leader(invitation->group, nullptr, invitation->leader, invitation->participants());
  step(invitation, Event::unled, {nullptr, PMIX_GROUP_LEADER_FAILED});
}

void Invitations::follow(const Ref& invitation, const pmix_proc_t& leader) {
  events_.tell_leader(invitation->group, &leader, invitation->leader, invitation->participants());
  invitation->leader = leader;
  for (auto& invitee : invitation->invitees)
    if (invitee.state == Invitee::State::missing) ask_leader(invitation, invitee, invitee.why);
  look(invitation);
}

}  // namespace weft::server
