// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invitation/invited.hpp"

#include <algorithm>
#include <utility>

namespace weft::server {

using AnswerKind = InvitationAnswer::Kind;

Invited::Invited(Loop& loop, const Jobs& jobs, PeerCalls& peers, GroupEvents& events, Groups& groups,
                 Memberships& memberships, Invitations& invitations, EarlyMessages& early)
    : loop_(loop),
      jobs_(jobs),
      peers_(peers),
      events_(events),
      groups_(groups),
      memberships_(memberships),
      invitations_(invitations),
      early_(early) {
  peers_.add_view_room(*this);
  peers_.on(RequestType::group_invitation, *this, &Invited::take);
  peers_.on(RequestType::group_over, *this, &Invited::take_end);
}

/// Of those that cannot come the coordinator hears at once.
void Invited::take(NodeNumber from, InvitationMessage message, const Rpc::Reply& reply) {
  const auto invited = jobs_.procs_of(message.invited);
  if (!invited || !jobs_.may_be_named(message.members)) return reply(PMIX_ERR_BAD_PARAM, {});
  if (peers_.is_lost(from)) return;
  reply(PMIX_SUCCESS, {});
  const auto name = message.name;
  auto* known = known_.find(name);
  if (known == nullptr)
    known = &known_.add(name, {message, from},
                        [](const InvitationName&, const Known& each) { return is_open(each); });
  known->told = std::move(message);
  const auto& told = known->told;
  peers_.meet(told.members);
  Procs here;
  for (const auto& proc : *invited) {
    if (!may_come(proc)) {
      answer(*known, proc, AnswerKind::fails);
      continue;
    }
    // What the process says from here on is about this one, though it never answered one before that is over.
    for (auto& [other, each] : known_)
      if (each.end && each.told.group == told.group)
        each.entries.remove_if([&](const Entry& entry) { return link::is_same(entry.proc, proc); });
    known->entries.push_back({proc});
    here.push_back(proc);
  }
  events_.tell({PMIX_GROUP_INVITED, told.leader, told.group, &told.members, nullptr}, here);
}

/// It is registered here, perhaps not started yet, and has not ended.
bool Invited::may_come(const pmix_proc_t& proc) const {
  const auto* job = jobs_.find(link::nspace_of(proc));
  const auto local = job == nullptr ? store::none : job->view().local_index(proc.rank);
  if (local == store::none) return false;
  const auto state = job->view().local(local).state.load(std::memory_order_relaxed);
  return state != store::Local::gone && state != store::Local::finalized;
}

// ---- what the processes answer

/// The leader that the process names has invited it, or has been elected since: where there is one invitation
/// it is that.
std::pair<Invited::Known*, std::list<Invited::Entry>::iterator> Invited::find(
    const pmix_proc_t& proc, const link::GroupJoin& message) {
  std::pair<Known*, std::list<Entry>::iterator> only{};
  std::size_t count = 0;
  for (auto& [name, known] : known_) {
    if (known.told.group != message.group) continue;
    for (auto entry = known.entries.begin(); entry != known.entries.end(); ++entry) {
      if (!link::is_same(entry->proc, proc)) continue;
      only = {&known, entry};
      if (link::is_same(known.told.leader, message.leader)) return only;
      ++count;
    }
  }
  if (count != 1) only.first = nullptr;
  return only;
}

void Invited::join(const Requester& from, const link::GroupJoin& message) {
  const auto [known, entry] = find(from.proc(), message);
  if (known == nullptr) return from.reply(PMIX_ERR_NOT_FOUND);
  if (entry->joining) return from.reply(PMIX_ERR_EXISTS);
  const bool accepts = message.accepts != 0;
  if (accepts && !known->end) return accept(*known, *entry, from, message);
  known->entries.erase(entry);
  if (known->end) {
    const auto status = known->end->made ? PMIX_ERR_NOT_FOUND : known->end->status;
    return from.reply(accepts ? status : PMIX_SUCCESS);
  }
  answer(*known, from.proc(), AnswerKind::declines);
  from.answer({PMIX_SUCCESS, {}, {}});
}

void Invited::accept(const Known& known, Entry& entry, const Requester& from,
                     const link::GroupJoin& message) {
  const auto timeout = data::timeout_in(message.directives);
  auto given = data_of(from.proc(), message.directives);
  if (!timeout || !given) return from.reply(PMIX_ERR_BAD_PARAM);
  entry.joining =
      std::make_shared<Joining>(Joining{from, {known.told.name, entry.proc, AnswerKind::accepts, {}}});
  if (!known.told.terms.is_extension) entry.joining->group = early_.expect(known.told.group);
  if (*given) entry.joining->answer.data.push_back(std::move(**given));
  watch_deadline(entry.joining, data::deadline_after(*timeout, loop_.now()));
  if (!peers_.is_gone(known.coordinator)) send(known, entry.joining->answer);
}

void Invited::answer(Known& known, const pmix_proc_t& proc, AnswerKind kind) {
  InvitationAnswer out{known.told.name, proc, kind, {}};
  peers_.is_gone(known.coordinator) ? known.held.push_back(std::move(out)) : send(known, out);
}

void Invited::send(const Known& known, const InvitationAnswer& answer) {
  peers_.send(known.coordinator, RequestType::group_answer, base::encode(answer),
              PeerCalls::expect<AnswerReply>([this, answer, to = known.coordinator](const auto& said) {
                const bool is_refused = said && said->outcome == AnswerReply::Outcome::not_invited;
                if (is_refused && !peers_.is_gone(to)) refused(answer);
              }));
}

void Invited::refused(const InvitationAnswer& answer) {
  auto* known = known_.find(answer.name);
  if (known == nullptr || known->end) return;
  const auto entry = std::find_if(known->entries.begin(), known->entries.end(), [&](const Entry& each) {
    return each.joining && link::is_same(each.proc, answer.proc);
  });
  if (entry == known->entries.end()) return;
  if (!entry->joining->is_late) entry->joining->from.reply(PMIX_ERR_NOT_FOUND);
  const auto group = known->told.group;
  known->entries.erase(entry);
  early_.take(group);
}

void Invited::watch_deadline(const JoiningRef& joining, data::Deadline until) {
  if (!until) return;
  joining->deadline = std::make_unique<Timer>(loop_, *until, [this, weak = std::weak_ptr(joining)] {
    const auto open = weak.lock();
    if (!open) return;
    open->is_late = true;
    open->from.reply(PMIX_ERR_TIMEOUT);
    if (auto* known = known_.find(open->answer.name)) answer(*known, open->answer.proc, AnswerKind::fails);
  });
}

std::size_t Invited::joining() const noexcept {
  std::size_t out = 0;
  for (const auto& [name, known] : known_)
    for (const auto& entry : known.entries) out += entry.joining ? 1 : 0;
  return out;
}

void Invited::lose(const pmix_proc_t& proc) {
  std::vector<std::string> groups;
  for (auto& [name, known] : known_) {
    const auto lost =
        known.entries.remove_if([&](const Entry& each) { return link::is_same(each.proc, proc); });
    if (lost == 0 || known.end) continue;
    answer(known, proc, AnswerKind::fails);
    groups.push_back(known.told.group);
  }
  for (const auto& group : groups) early_.take(group);
}

// ---- the end

void Invited::take_end(NodeNumber from, InvitationEnd over, const Rpc::Reply& reply) {
  const bool is_valid = !over.made || jobs_.may_be_named(over.made->group.members);
  if (auto* known = known_.find(over.name); is_valid && known != nullptr && !peers_.is_lost(from)) {
    const bool is_early = known->coordinator != from && peers_.is_gone(known->coordinator);
    is_early ? static_cast<void>(known->early_end = over) : end(over);
  }
  reply(is_valid ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, {});
}

/// Processes that have not answered get the same when they do.
void Invited::end(const InvitationEnd& end) {
  auto* known = known_.find(end.name);
  if (known == nullptr || known->end) return;
  known->end = end;
  const auto group = known->told.group;
  // Where the group has had its new members before the inviter's server was lost they stay.
  const bool may_be_extended = known->told.terms.is_extension && peers_.is_gone(end.name.first);
  const auto* extended = may_be_extended ? groups_.table().find(group) : nullptr;
  const auto made = end.made || extended == nullptr ? end.made : MadeGroup{group, *extended, {}};
  Procs told;
  std::vector<JoiningRef> joining;
  for (const auto& entry : known->entries) {
    const bool has_heard = entry.joining && entry.joining->is_late;
    const bool is_member = made && link::holds(made->group.members, entry.proc);
    if (!has_heard && !is_member && !link::is_same(entry.proc, end.leader)) told.push_back(entry.proc);
    if (entry.joining) joining.push_back(entry.joining);
  }
  known->entries.remove_if([](const Entry& entry) { return entry.joining != nullptr; });
  if (!end.made) events_.tell_abort(group, end.leader, end.status, told);
  // Also for members that have ended since: this node takes part in what the group does without them.
  const bool has_members =
      end.made && !peers_.by_node(link::procs_or_none(end.made->group.members))[peers_.self()].empty();
  if (has_members) groups_.take(*end.made);
  for (const auto& each : joining) this->end(each, made, end.made ? PMIX_ERR_NOT_FOUND : end.status);
  early_.take(group);
}

/// The group may have been made while the process gave up: then the others have it as a member, and it
/// leaves.
void Invited::end(const JoiningRef& joining, const std::optional<MadeGroup>& made,
                  pmix_status_t else_status) {
  joining->deadline.reset();
  joining->group.reset();
  const bool is_member = made && link::holds(made->group.members, joining->answer.proc);
  if (!joining->is_late)
    return is_member ? groups_.admit(joining->from, PMIX_SUCCESS, *made) : joining->from.reply(else_status);
  if (is_member) memberships_.leave({joining->from.connection, 0}, {made->name, {}});
}

// ---- the coordinator is lost

bool Invited::has_undecided() const {
  return std::any_of(known_.begin(), known_.end(), [this](const auto& each) {
    return is_open(each.second) && peers_.is_gone(each.second.coordinator);
  });
}

std::vector<InvitationItem> Invited::items() const {
  std::vector<InvitationItem> out;
  for (const auto& [name, known] : known_) {
    if (!peers_.is_gone(name.first)) continue;
    const bool is_orphan = peers_.is_gone(known.coordinator);
    InvitationItem item{is_orphan && is_open(known), known.told,
                        is_orphan ? peers_.self() : known.coordinator, !is_orphan, known.end};
    Procs invited;
    if (is_open(known))
      for (const auto& entry : known.entries)
        if (!entry.joining || !entry.joining->is_late) invited.push_back(entry.proc);
    item.told.invited = link::runs_of(invited);
    out.push_back(std::move(item));
  }
  return out;
}

void Invited::settle(std::vector<InvitationItem> decided) {
  for (auto& item : decided) {
    const bool is_valid = jobs_.may_be_named(item.told.members) && jobs_.may_be_named(item.told.invited);
    auto* known = known_.find(item.told.name);
    if (known == nullptr || !is_valid) continue;
    invitations_.settle(item);
    if (item.end) {
      end(*item.end);
      continue;
    }
    known->told.members = std::move(item.told.members);
    if (known->coordinator != item.coordinator) follow(*known, item.coordinator);
    if (const auto early = std::exchange(known->early_end, {})) end(*early);
  }
}

void Invited::follow(Known& known, NodeNumber coordinator) {
  known.coordinator = coordinator;
  for (const auto& each : std::exchange(known.held, {})) send(known, each);
  for (const auto& entry : known.entries)
    if (entry.joining && !entry.joining->is_late) send(known, entry.joining->answer);
}

bool Invited::is_awaited(const FenceName& name, const pmix_proc_t& proc) const {
  return name.operation.kind == OperationName::Kind::invitation &&
         std::any_of(known_.begin(), known_.end(), [&](const auto& each) {
           const auto& [number, known] = each;
           return number.number == name.generation && known.told.group == name.operation.group &&
                  !known.end &&
                  std::any_of(known.entries.begin(), known.entries.end(), [&](const Entry& entry) {
                    return !entry.joining && link::is_same(entry.proc, proc);
                  });
         });
}

}  // namespace weft::server
