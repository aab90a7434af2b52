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
  link::GroupQuestion question;
  question.operation = to_text({OperationName::Kind::invitation, invitation->group});
  question.codes = {code};
  question.source = invitee.proc;
  const auto members = invitation->members();
  question.infos = GroupEvents::infos_of({code, invitee.proc, invitation->group, &members, &invitee.proc});
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
    link::GroupQuestion out;
    out.operation = to_text({OperationName::Kind::invitation, invitation->group});
    out.codes = {PMIX_GROUP_LEADER_FAILED};
    out.source = invitation->leader;
    const auto members = invitation->members();
    out.infos = GroupEvents::infos_of(
        {PMIX_GROUP_LEADER_FAILED, invitation->leader, invitation->group, &members, &invitation->leader});
    return out;
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
  data::Infos more;
  more.add(PMIX_GROUP_LEADER, data::Value::of(false));
  events_.tell({PMIX_GROUP_LEADER_SELECTED, invitation->leader, invitation->group, nullptr, nullptr},
               invitation->participants(), &more);
  step(invitation, Event::unled, {nullptr, PMIX_GROUP_LEADER_FAILED});
}

void Invitations::follow(const Ref& invitation, const pmix_proc_t& leader) {
  auto everyone = invitation->participants();
  invitation->leader = leader;
  data::Infos more;
  more.add(PMIX_GROUP_LEADER, data::Value::of(true));
  events_.tell({PMIX_GROUP_LEADER_SELECTED, leader, invitation->group, nullptr, &leader}, everyone, &more);
  for (auto& invitee : invitation->invitees)
    if (invitee.state == Invitee::State::missing) ask_leader(invitation, invitee, invitee.why);
  look(invitation);
}

}  // namespace weft::server
