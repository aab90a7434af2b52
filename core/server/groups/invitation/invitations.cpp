// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invitation/invitations.hpp"

#include <algorithm>
#include <utility>

#include "weft/pmix_extensions.h"

namespace weft::server {
namespace {

using Event = InvitationEvent;

}  // namespace

Invitations::Invitations(Loop& loop, PeerCalls& peers, Questions& questions, GroupEvents& events,
                         Groups& groups, Memberships& memberships)
    : loop_(loop),
      peers_(peers),
      questions_(questions),
      events_(events),
      groups_(groups),
      memberships_(memberships) {
  peers_.on(RequestType::group_answer, *this, &Invitations::take_answer);
}

// ---- the leader's call

void Invitations::invite(const Requester& from, link::GroupInvite message) {
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  const auto timeout = data::timeout_in(message.directives);
  if (!timeout) return from.reply(PMIX_ERR_BAD_PARAM);
  const auto invitation = std::make_shared<Invitation>();
  if (const auto status = begin(from, message, *invitation); status != PMIX_SUCCESS)
    return from.reply(status);
  if (*timeout)
    invitation->terms.timeout =
        static_cast<std::uint32_t>(std::min(**timeout, data::longest_timeout).count());
  open(invitation, {peers_.self(), ++last_});
  send(invitation, invitation->all_in(Invitee::State::asked));
  look(invitation);
}

void Invitations::open(const Ref& invitation, const InvitationName& name) {
  invitation->name = name;
  invitation->since = loop_.now();
  peers_.meet(invitation->members());
  open_.emplace(name, invitation);
  if (invitation->terms.timeout == 0) return;
  invitation->deadline = std::make_unique<Timer>(loop_, std::chrono::seconds(invitation->terms.timeout),
                                                 [this, weak = std::weak_ptr(invitation)] {
                                                   if (const auto late = weak.lock())
                                                     step(late, Event::late, {});
                                                 });
}

/// What does not come any more, or whose node is lost, the next leader is asked about.
void Invitations::adopt(const InvitationItem& item) {
  const auto& told = item.told;
  const auto invitation = std::make_shared<Invitation>();
  invitation->group = told.group;
  invitation->leader = invitation->inviter = told.leader;
  invitation->terms = told.terms;
  for (const auto& proc : link::procs_or_none(told.members)) {
    const auto node = peers_.node_of(proc);
    if (node && !peers_.is_gone(*node)) invitation->nodes.insert(*node);
    const bool may_come = node && !peers_.is_gone(*node) && link::holds(told.invited, proc);
    Invitee invitee{proc};
    if (link::is_same(proc, told.leader))
      invitee.state = Invitee::State::out;
    else if (!may_come)
      invitee = {proc, Invitee::State::missing, PMIX_GROUP_INVITE_FAILED};
    invitation->invitees.push_back(std::move(invitee));
  }
  open(invitation, told.name);
  step(invitation, Event::leader_lost, {});
}

void Invitations::settle(const InvitationItem& item) {
  const auto& name = item.told.name;
  const bool is_known = open_.count(name) != 0 || over_.find(name) != nullptr;
  if (!item.end && item.coordinator == peers_.self() && !is_known) adopt(item);
  const bool is_here = open_.count(name) != 0;
  for (auto& each : std::exchange(early_, {})) {
    if (each.answer.name != name)
      early_.push_back(std::move(each));
    else if (is_here)
      take(each.from, std::move(each.answer));
  }
}

/// Which processes it is about. Those that are members of a group that is extended are not invited.
pmix_status_t Invitations::begin(const Requester& from, const link::GroupInvite& message,
                                 Invitation& out) const {
  const auto* group = groups_.table().find(message.group);
  out.terms.is_extension = group != nullptr && link::holds(group->members, from.proc());
  if (group != nullptr && !out.terms.is_extension) return PMIX_ERR_EXISTS;
  for (const auto& [name, open] : open_)
    if (open->group == message.group) return PMIX_ERR_EXISTS;
  const auto named = link::procs_of(groups_.by_rank(message.procs));
  if (!named) return PMIX_ERR_BAD_PARAM;
  Procs procs;
  if (!contains(*named, from.proc())) procs.push_back(from.proc());
  procs.insert(procs.end(), named->begin(), named->end());
  procs = link::each_once(procs);
  for (const auto& proc : procs) {
    const bool is_leader = link::is_same(proc, from.proc());
    if (!is_leader && out.terms.is_extension && link::holds(group->members, proc)) continue;
    if (!peers_.node_of(proc)) return PMIX_ERR_NOT_FOUND;
    out.invitees.push_back({proc, is_leader ? Invitee::State::coming : Invitee::State::asked});
  }
  out.group = message.group;
  out.leader = from.proc();
  out.inviter = from.proc();
  out.from = from;
  out.terms.wanted = out.invitees.size();
  out.terms.options = options_in(message.directives);
  // A group that tells its members of each process that joins does so when it grows.
  if (out.terms.is_extension && group->options.tells_joins) out.terms.options.tells_joins = false;
  out.terms.is_optional = is_set(message.directives, PMIX_GROUP_OPTIONAL);
  out.terms.wants_context = is_set(message.directives, PMIX_GROUP_ASSIGN_CONTEXT_ID);
  auto given = data_of(from.proc(), message.directives);
  if (!given) return PMIX_ERR_BAD_PARAM;
  if (*given) out.data.push_back(std::move(**given));
  return PMIX_SUCCESS;
}

void Invitations::send(const Ref& invitation, const Procs& procs) {
  const auto members = invitation->members();
  for (const auto& [node, invited] : peers_.by_node(procs)) {
    const InvitationMessage message{invitation->name,       invitation->group, invitation->leader,
                                    link::runs_of(invited), members,           invitation->terms};
    invitation->nodes.insert(node);
    peers_.send(node, RequestType::group_invitation, base::encode(message),
                [this, weak = std::weak_ptr(invitation), asked = invited](pmix_status_t status, Bytes) {
                  const auto open = weak.lock();
                  if (status == PMIX_SUCCESS || !open) return;
                  for (const auto& proc : asked)
                    if (auto* invitee = open->find(proc);
                        invitee != nullptr && invitee->state == Invitee::State::asked)
                      step(open, Event::missing, {invitee, PMIX_GROUP_INVITE_FAILED});
                });
  }
}

// ---- events

void Invitations::take_answer(NodeNumber from, InvitationAnswer answer, const Rpc::Reply& reply) {
  reply(PMIX_SUCCESS, base::encode(AnswerReply{take(from, std::move(answer))}));
}

AnswerReply::Outcome Invitations::take(NodeNumber from, InvitationAnswer answer) {
  using Outcome = AnswerReply::Outcome;
  if (over_.find(answer.name) != nullptr) return Outcome::taken;  // how it has ended is on its way
  const auto open = open_.find(answer.name);
  if (open == open_.end()) {
    if (answer.name.first == peers_.self()) return Outcome::not_invited;
    early_.push_back({from, std::move(answer)});
    return Outcome::taken;
  }
  const auto invitation = open->second;
  auto* invitee = invitation->find(answer.proc);
  if (invitee == nullptr || peers_.node_of(answer.proc) != from) return Outcome::not_invited;
  const bool is_asked = invitee->state == Invitee::State::asked;
  if (answer.kind != InvitationAnswer::Kind::accepts) {
    const auto why = answer.kind == InvitationAnswer::Kind::declines ? PMIX_GROUP_INVITE_DECLINED
                                                                     : PMIX_GROUP_INVITE_FAILED;
    if (is_asked || invitee->state == Invitee::State::coming)
      step(invitation, Event::missing, {invitee, why});
    return Outcome::taken;
  }
  if (!is_asked) return Outcome::not_invited;
  for (auto& given : answer.data)
    if (link::is_same(link::make_proc(given.nspace, given.rank), answer.proc))
      invitation->data.push_back(std::move(given));
  step(invitation, Event::accepted, {invitee});
  return Outcome::taken;
}

void Invitations::lose(const pmix_proc_t& proc) {
  std::vector<Ref> about;
  for (const auto& [name, invitation] : open_)
    if (invitation->find(proc) != nullptr) about.push_back(invitation);
  for (const auto& invitation : about) {
    auto* invitee = invitation->find(proc);
    if (link::is_same(invitation->leader, proc)) {
      invitee->state = Invitee::State::out;
      step(invitation, Event::leader_lost, {invitee});
    } else if (invitee->state == Invitee::State::asked || invitee->state == Invitee::State::coming) {
      step(invitation, Event::missing, {invitee, PMIX_GROUP_INVITE_FAILED});
    }
  }
}

void Invitations::abort(const pmix_proc_t& by, std::string_view group) {
  for (const auto& [name, invitation] : open_)
    if (invitation->group == group && link::is_same(invitation->leader, by)) {
      const auto held = invitation;
      return step(held, Event::aborted, {});
    }
}

void Invitations::step(const Ref& invitation, InvitationEvent event, Cause cause) {
  const auto [action, next] = invitation_step(invitation->state, event);
  invitation->state = next;
  auto* invitee = cause.invitee;
  switch (action) {
    case InvitationAction::none:
      return;
    case InvitationAction::admit:
      return admit(invitation, *invitee);
    case InvitationAction::keep:
    case InvitationAction::ask_leader:
      if (event == Event::missing) {
        invitee->state = Invitee::State::missing;
        invitee->why = cause.status;
      }
      if (action == InvitationAction::ask_leader) ask_leader(invitation, *invitee, invitee->why);
      return;
    case InvitationAction::drop:
      invitee->state = Invitee::State::out;
      return look(invitation);
    case InvitationAction::invite:
      return replace(invitation, *invitee, cause.procs);
    case InvitationAction::settle:
      if (!invitation->terms.is_optional) return fail(invitation, invitee->why);
      invitee->state = Invitee::State::out;
      return look(invitation);
    case InvitationAction::elect:
      return elect(invitation);
    case InvitationAction::follow:
      return follow(invitation, cause.procs.front());
    case InvitationAction::end:
      return fail(invitation, cause.status != PMIX_SUCCESS ? cause.status
                              : event == Event::late       ? PMIX_ERR_TIMEOUT
                                                           : PMIX_GROUP_CONSTRUCT_ABORT);
  }
}

/// The leader's library takes note of it; a handler of the program may abort.
void Invitations::admit(const Ref& invitation, Invitee& invitee) {
  invitee.state = Invitee::State::coming;
  if (invitation->terms.options.tells_joins)
    events_.tell({PMIX_PROC_HAS_JOINED, invitee.proc, invitation->group, nullptr, &invitee.proc},
                 invitation->all_in(Invitee::State::coming));
  if (invitation->state == InvitationState::electing)
    return;  // a question to the lost leader may never be answered
  ++invitation->open_questions;
  ask_leader(invitation, invitee, PMIX_GROUP_INVITE_ACCEPTED);
}

// ---- the end

void Invitations::look(const Ref& invitation) {
  const bool is_over = invitation->state == InvitationState::gathering && invitation->open_questions == 0 &&
                       invitation->is_complete();
  if (is_over) make(invitation);
}

void Invitations::make(const Ref& invitation) {
  invitation->state = InvitationState::ended;
  invitation->deadline.reset();
  MadeGroup made{invitation->group, {}, {}};
  auto members = invitation->all_in(Invitee::State::coming);
  std::erase_if(invitation->data, [&](const MemberData& given) {
    const auto* invitee = invitation->find(link::make_proc(given.nspace, given.rank));
    return invitee == nullptr || invitee->state != Invitee::State::coming;
  });
  made.data = std::move(invitation->data);
  const auto status = members.size() < invitation->terms.wanted ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS;
  if (invitation->terms.is_extension) {
    std::erase_if(members, [&](const pmix_proc_t& proc) { return link::is_same(proc, invitation->inviter); });
    const auto* group = groups_.table().find(invitation->group);
    if (members.empty() && group != nullptr) {  // all are members already, or none of those invited has come
      made.group = *group;
      return conclude(invitation, status, made);
    }
    return memberships_.extend(invitation->group, members, std::move(made.data),
                               [this, invitation, status](pmix_status_t changed, const MadeGroup& now) {
                                 conclude(invitation, changed == PMIX_SUCCESS ? status : changed, now);
                               });
  }
  made.group.members = link::runs_of(members);
  made.group.options = invitation->terms.options;
  if (!members.empty())
    made.group.keeper = peers_.by_node(members).count(peers_.self()) != 0
                            ? peers_.self()
                            : peers_.node_of(members.front()).value_or(peers_.self());
  made.group.series = made.group.origin = groups_.next_series();
  if (invitation->terms.wants_context) made.group.context_id = groups_.next_context();
  conclude(invitation, status, made);
}

void Invitations::fail(const Ref& invitation, pmix_status_t status) {
  invitation->state = InvitationState::ended;
  invitation->deadline.reset();
  conclude(invitation, status, {invitation->group, {}, {}});
}

/// status: the leader's; those that have joined have what they wanted where there is a group.
void Invitations::conclude(const Ref& invitation, pmix_status_t status, const MadeGroup& made) {
  open_.erase(invitation->name);
  over_.add(invitation->name, true);
  const bool is_made = status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
  if (invitation->from.connection != nullptr)
    groups_.admit(invitation->from, status, made);
  else if (is_made)
    groups_.take(made);
  InvitationEnd end{invitation->name, invitation->leader, is_made ? PMIX_SUCCESS : status};
  if (is_made) end.made = made;
  const auto body = base::encode(end);
  for (const auto node : invitation->nodes) peers_.send(node, RequestType::group_over, body, nullptr);
}

// ---- which ranks are missing

/// What other nodes' processes it waits for their servers know (Invited::is_awaited).
void Invitations::each_wait(const SeeWait& see) {
  for (const auto& [name, open] : open_) {
    const auto& invitation = *open;
    see({{invitation.members(), name.number, {OperationName::Kind::invitation, invitation.group}},
         invitation.since,
         open->is_reported,
         [&invitation](const pmix_proc_t& proc) {
           const auto* invitee = invitation.find(proc);
           return invitee == nullptr || invitee->state != Invitee::State::asked;
         }});
  }
}

}  // namespace weft::server
