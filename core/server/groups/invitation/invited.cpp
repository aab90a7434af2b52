// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invitation/invited.hpp"

#include <algorithm>
#include <utility>

#include "core/server/fences/local_part.hpp"

namespace weft::server {

Invited::Invited(Loop& loop, const Jobs& jobs, PeerCalls& peers, const Questions& questions,
                 GroupEvents& events, Groups& groups, Memberships& memberships)
    : loop_(loop),
      jobs_(jobs),
      peers_(peers),
      questions_(questions),
      events_(events),
      groups_(groups),
      memberships_(memberships) {
  peers_.on(RequestType::group_invitation,
            [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) { take(from, body, reply); });
  memberships_.on_awaits([this](const std::string& group) { return awaits(group); });
  peers_.on(RequestType::group_over, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    const auto over = base::decode<InvitationOver>(body);
    if (over && !is_handed_over({from, over->number})) end({from, over->number}, over->status);
    reply(over ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, {});
  });
}

/// Those that cannot come are said so at once; the others hear of it.
void Invited::take(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  const auto message = base::decode<InvitationMessage>(body);
  const auto invited = message ? jobs_.procs_of(message->invited) : weft::fail(Errc::corrupt);
  if (!invited || !jobs_.may_be_named(message->members)) return reply(PMIX_ERR_BAD_PARAM, {});
  if (is_handed_over({from, message->number})) return reply(PMIX_ERR_NOT_FOUND, {});
  reply(PMIX_SUCCESS, {});
  const InvitationName name{from, message->number};
  keep(name, {message->group, message->leader, message->members, message->terms});
  Procs told;
  for (const auto& proc : *invited) {
    const Entry entry{name, message->group, message->leader, proc};
    if (!may_come(proc)) {
      answer(entry, PMIX_GROUP_INVITE_FAILED);
      continue;
    }
    // What the process says from here on is about this one, though it never answered one before that is over.
    open_.remove_if([&](const Entry& each) {
      return each.over != PMIX_SUCCESS && each.group == entry.group && link::is_same(each.proc, proc);
    });
    open_.push_back(entry);
    told.push_back(proc);
  }
  events_.tell({PMIX_GROUP_INVITED, message->leader, message->group, &message->members, nullptr}, told);
}

void Invited::keep(const InvitationName& name, Told told) {
  told_.add(name, std::move(told), [this](const InvitationName& each, const Told&) {
    return std::any_of(open_.begin(), open_.end(), [&](const Entry& entry) { return entry.name == each; });
  });
}

/// It is registered here, perhaps not started yet, and has not ended.
bool Invited::may_come(const pmix_proc_t& proc) const {
  const auto* job = jobs_.find(link::nspace_of(proc));
  const auto local = job == nullptr ? store::none : job->view().local_index(proc.rank);
  if (local == store::none) return false;
  const auto state = job->view().local(local).state.load(std::memory_order_relaxed);
  return state != store::Local::gone && state != store::Local::finalized;
}

void Invited::answer(const Entry& entry, pmix_status_t status) {
  if (auto* told = told_.find(entry.name); told != nullptr && told->next) {
    told->late.emplace_back(entry.proc, status);
    return;
  }
  peers_.send(entry.name.coordinator, RequestType::group_answer,
              base::encode(InvitationAnswer{entry.name.number, entry.proc, status, {}}), nullptr);
}

/// The leader that the process names has invited it, or has been elected since: where there is one invitation
/// it is that.
std::list<Invited::Entry>::iterator Invited::find(const pmix_proc_t& proc, const link::GroupJoin& message) {
  auto only = open_.end();
  std::size_t count = 0;
  for (auto entry = open_.begin(); entry != open_.end(); ++entry) {
    if (entry->group != message.group || !link::is_same(entry->proc, proc)) continue;
    if (link::is_same(entry->leader, message.leader)) return entry;
    only = entry;
    ++count;
  }
  return count == 1 ? only : open_.end();
}

void Invited::join(const Requester& from, const link::GroupJoin& message) {
  const auto found = find(from.proc(), message);
  if (found == open_.end()) return from.reply(PMIX_ERR_NOT_FOUND);
  if (found->has_accepted) return from.reply(PMIX_ERR_EXISTS);
  if (const auto over = found->over; over != PMIX_SUCCESS) {
    open_.erase(found);
    return from.reply(message.accepts != 0 ? over : PMIX_SUCCESS);
  }
  if (message.accepts != 0) return accept(*found, from, message);
  answer(*found, PMIX_GROUP_INVITE_DECLINED);
  open_.erase(found);
  from.answer({PMIX_SUCCESS, {}, {}});
}

void Invited::accept(Entry& entry, const Requester& from, const link::GroupJoin& message) {
  const auto timeout = data::timeout_in(message.directives);
  auto given = data_of(from.proc(), message.directives);
  if (!timeout || !given) return from.reply(PMIX_ERR_BAD_PARAM);
  entry.has_accepted = true;
  const auto joining = std::make_shared<Joining>(Joining{from, entry, {0, entry.proc, PMIX_SUCCESS, {}}});
  if (*given) joining->answer.data.push_back(std::move(**given));
  joining_.push_back(joining);
  watch_deadline(joining, data::deadline_after(*timeout, loop_.now()));
  if (!is_handed_over(entry.name)) send_acceptance(joining);
}

void Invited::send_acceptance(const JoiningRef& joining) {
  const auto name = joining->entry.name;
  joining->answer.number = name.number;
  peers_.send(
      name.coordinator, RequestType::group_answer, base::encode(joining->answer),
      [this, joining, name](pmix_status_t status, Bytes body) { answered(joining, name, status, body); });
}

/// A lost coordinator is followed by another server, whose word counts.
void Invited::answered(const JoiningRef& joining, const InvitationName& asked, pmix_status_t status,
                       Bytes body) {
  if (joining->entry.name != asked || is_handed_over(asked) || status == PMIX_ERR_UNREACH) return;
  made(joining, status, body);
}

void Invited::watch_deadline(const JoiningRef& joining, data::Deadline until) {
  if (!until) return;
  joining->deadline = std::make_unique<Timer>(loop_, *until, [this, weak = std::weak_ptr(joining)] {
    const auto open = weak.lock();
    if (!open) return;
    open->is_over = true;
    open->from.reply(PMIX_ERR_TIMEOUT);
    answer(open->entry, PMIX_GROUP_INVITE_FAILED);
  });
}

/// A process here has joined a group that is new, and has not been told yet that it is made. Members that an
/// invitation adds are told by a change of the group.
bool Invited::awaits(const std::string& group) const {
  return std::any_of(joining_.begin(), joining_.end(), [&](const JoiningRef& each) {
    const auto* told = told_.find(each->entry.name);
    return each->entry.group == group && told != nullptr && !told->terms.is_extension;
  });
}

/// The group may have been made while the process gave up: then the others have it as a member, and it
/// leaves.
void Invited::made(const JoiningRef& joining, pmix_status_t status, Bytes body) {
  joining->deadline.reset();
  joining_.remove(joining);
  erase(joining->entry);
  const auto group = status == PMIX_SUCCESS ? groups_.made_in(body) : weft::fail(Errc::not_found);
  if (status == PMIX_SUCCESS && !group) status = PMIX_ERR_UNPACK_FAILURE;
  if (auto* told = told_.find(joining->entry.name); group && told != nullptr)
    told->made.assign(body.begin(), body.end());
  keep_failure(joining->entry.name, status);
  if (!joining->is_over) {
    groups_.admit(joining->from, status, group ? *group : MadeGroup{});
  } else if (group) {
    groups_.take(*group);
    memberships_.leave({joining->from.connection, 0}, {group->name, {}});
  }
  memberships_.take_early(joining->entry.group);
}

void Invited::lose(const pmix_proc_t& proc) {
  for (const auto& entry : open_)
    if (link::is_same(entry.proc, proc) && entry.over == PMIX_SUCCESS)
      answer(entry, PMIX_GROUP_INVITE_FAILED);
  open_.remove_if([&](const Entry& each) { return link::is_same(each.proc, proc); });
  std::vector<std::string> groups;
  joining_.remove_if([&](const JoiningRef& each) {
    const bool is_its = link::is_same(each->entry.proc, proc);
    if (is_its) groups.push_back(each->entry.group);
    return is_its;
  });
  for (const auto& group : groups) memberships_.take_early(group);
}

/// The others hear the same if the coordinator is lost before it has told them. PMIX_ERR_NOT_FOUND: it has
/// ended well, without a process of this node.
void Invited::keep_failure(const InvitationName& name, pmix_status_t status) {
  auto* told = told_.find(name);
  if (told != nullptr && status != PMIX_SUCCESS && status != PMIX_ERR_NOT_FOUND) told->failed = status;
}

void Invited::end(const InvitationName& name, pmix_status_t status) {
  keep_failure(name, status);
  std::size_t over = 0;
  for (auto& entry : open_) {
    if (entry.name == name && !entry.has_accepted) entry.over = status;
    if (entry.over != PMIX_SUCCESS) ++over;
  }
  // The oldest ones go: their processes never answered.
  open_.remove_if(
      [&](const Entry& entry) { return entry.over != PMIX_SUCCESS && over > most_over && over-- != 0; });
}

void Invited::erase(const Entry& entry) {
  open_.remove_if(
      [&](const Entry& each) { return each.name == entry.name && link::is_same(each.proc, entry.proc); });
}

// ---- the coordinator is lost

std::vector<Invited::Orphan> Invited::waiting_for_node(NodeNumber node) const {
  std::vector<Orphan> out;
  for (const auto& [name, told] : told_) {
    const bool is_open = std::any_of(open_.begin(), open_.end(), [&, &name = name](const Entry& entry) {
      return entry.name == name && entry.over == PMIX_SUCCESS;
    });
    if (is_open && told.next.value_or(name.coordinator) == node) out.push_back({name, told.members});
  }
  return out;
}

/// Servers look for another coordinator: what the lost one has sent late does not count, and processes wait
/// for their word.
bool Invited::is_handed_over(const InvitationName& name) const {
  const auto* told = told_.find(name);
  return told != nullptr && told->next.has_value();
}

std::optional<OrphanPart> Invited::hand_over(const InvitationName& name, NodeNumber next) {
  auto* told = told_.find(name);
  if (told == nullptr) {
    // What the lost coordinator has sent may still come, and counts for no other node: no process of this one
    // is invited.
    Told nothing;
    nothing.next = next;
    keep(name, std::move(nothing));
    return std::nullopt;
  }
  const bool has_it_already = std::exchange(told->next, next) == next;
  if (told->group.empty() || has_it_already) return std::nullopt;
  Procs invited;
  for (const auto& entry : open_)
    if (entry.name == name && entry.over == PMIX_SUCCESS) invited.push_back(entry.proc);
  return OrphanPart{told->group, told->leader, link::runs_of(invited), told->members, told->terms,
                    told->made,  told->failed};
}

void Invited::be_over(const OrphanAdopted& word) {
  const auto& name = word.name;
  const bool is_made = !word.made.empty();
  const auto code = word.failed == PMIX_GROUP_LEADER_FAILED ? word.failed : PMIX_GROUP_CONSTRUCT_ABORT;
  for (const auto& entry : open_)
    if (entry.name == name && entry.over == PMIX_SUCCESS && !is_made)
      events_.tell({code, entry.leader, entry.group, nullptr, &entry.leader}, {entry.proc});
  const auto joining = joining_;
  for (const auto& each : joining)
    if (each->entry.name == name) made(each, is_made ? PMIX_SUCCESS : word.failed, word.made);
  end(name, is_made ? PMIX_ERR_NOT_FOUND : word.failed);
}

void Invited::adopted(NodeNumber by, const OrphanAdopted& word) {
  auto* found = told_.find(word.name);
  if (found == nullptr || found->next != by) return;
  if (word.number == 0) return be_over(word);
  const InvitationName now{by, word.number};
  auto told = std::move(*found);
  told_.erase(word.name);
  told.next.reset();
  const auto late = std::exchange(told.late, {});
  for (auto& entry : open_)
    if (entry.name == word.name) entry.name = now;
  for (const auto& [proc, status] : late) answer({now, told.group, told.leader, proc}, status);
  keep(now, std::move(told));
  const auto joining = joining_;
  for (const auto& each : joining) {
    if (each->entry.name != word.name) continue;
    each->entry.name = now;
    if (!each->is_over) {
      send_acceptance(each);
      continue;
    }
    answer(each->entry, PMIX_GROUP_INVITE_FAILED);
    joining_.remove(each);
    erase(each->entry);
    memberships_.take_early(each->entry.group);
  }
}

FencePart Invited::part_in(const FenceName& name) const {
  const auto procs = jobs_.procs_of(name.procs);
  return local_part(jobs_, procs ? *procs : Procs(), name, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    const bool is_awaited = std::any_of(open_.begin(), open_.end(), [&](const Entry& each) {
      return !each.has_accepted && each.over == PMIX_SUCCESS && each.name.number == name.generation &&
             link::is_same(each.proc, proc) && each.group == name.operation.group &&
             name.operation.kind == OperationName::Kind::invitation;
    });
    return !is_awaited && !questions_.is_asked(proc, to_text(name.operation));
  });
}

}  // namespace weft::server
