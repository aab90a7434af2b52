// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invited.hpp"

#include <algorithm>

#include "core/server/fences/local_part.hpp"

namespace weft::server {

Invited::Invited(asio::io_context& loop, const Jobs& jobs, PeerCalls& peers, const Questions& questions,
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
  peers_.on(RequestType::group_over, [this](NodeNumber from, Bytes body, const Rpc::Reply& reply) {
    const auto over = base::decode<InvitationOver>(body);
    if (over) end(from, over->number, over->status);
    reply(over ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, {});
  });
}

/// Those that cannot come are said so at once; the others hear of it.
void Invited::take(NodeNumber from, Bytes body, const Rpc::Reply& reply) {
  const auto message = base::decode<InvitationMessage>(body);
  const auto invited = message ? peers_.procs_of(message->invited) : weft::fail(Errc::corrupt);
  if (!invited || !peers_.may_be_members(message->members)) return reply(PMIX_ERR_BAD_PARAM, {});
  reply(PMIX_SUCCESS, {});
  Procs told;
  for (const auto& proc : *invited) {
    const Entry entry{message->number, from, message->group, message->leader, proc};
    if (!may_come(proc)) {
      answer(entry, PMIX_GROUP_INVITE_FAILED);
      continue;
    }
    open_.push_back(entry);
    told.push_back(proc);
  }
  events_.tell({PMIX_GROUP_INVITED, message->leader, message->group, &message->members, nullptr}, told);
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
  peers_.send(entry.coordinator, RequestType::group_answer,
              base::encode(InvitationAnswer{entry.number, entry.proc, status, {}}), nullptr);
}

/// The leader that the process names has invited it, or has been elected since: where there is one invitation it is that.
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
  InvitationAnswer accepted{entry.number, entry.proc, PMIX_SUCCESS, {}};
  if (*given) accepted.data.push_back(std::move(**given));
  const auto joining = std::make_shared<Joining>(Joining{from, entry});
  watch_deadline(joining, data::deadline_after(*timeout));
  peers_.send(entry.coordinator, RequestType::group_answer, base::encode(accepted),
              [this, joining](pmix_status_t status, Bytes body) { made(*joining, status, body); });
}

void Invited::watch_deadline(const std::shared_ptr<Joining>& joining, data::Deadline until) {
  if (!until) return;
  joining->deadline = std::make_unique<asio::steady_timer>(loop_, *until);
  joining->deadline->async_wait([this, weak = std::weak_ptr(joining)](const std::error_code& error) {
    const auto open = weak.lock();
    if (error || !open) return;
    open->is_over = true;
    open->from.reply(PMIX_ERR_TIMEOUT);
    answer(open->entry, PMIX_GROUP_INVITE_FAILED);
  });
}

/// The group may have been made while the process gave up: then the others have it as a member, and it leaves.
void Invited::made(Joining& joining, pmix_status_t status, Bytes body) {
  joining.deadline.reset();
  erase(joining.entry);
  const auto group = status == PMIX_SUCCESS ? groups_.made_in(body) : weft::fail(Errc::not_found);
  if (status == PMIX_SUCCESS && !group) status = PMIX_ERR_UNPACK_FAILURE;
  if (status == PMIX_ERR_UNREACH) {
    tell_failed(joining.entry);
    status = PMIX_GROUP_LEADER_FAILED;
  }
  if (!joining.is_over) return groups_.admit(joining.from, status, group ? *group : MadeGroup{});
  if (!group) return;
  groups_.take(*group);
  memberships_.leave({joining.from.connection, 0}, {group->name, {}});
}

void Invited::lose(const pmix_proc_t& proc) {
  for (const auto& entry : open_)
    if (link::is_same(entry.proc, proc) && entry.over == PMIX_SUCCESS)
      answer(entry, PMIX_GROUP_INVITE_FAILED);
  open_.remove_if([&](const Entry& each) { return link::is_same(each.proc, proc); });
}

/// Those that have accepted are told when their call ends.
void Invited::node_lost(NodeNumber node) {
  for (auto& entry : open_) {
    if (entry.coordinator != node || entry.has_accepted || entry.over != PMIX_SUCCESS) continue;
    tell_failed(entry);
    entry.over = PMIX_GROUP_LEADER_FAILED;
  }
}

void Invited::end(NodeNumber coordinator, std::uint64_t number, pmix_status_t status) {
  std::size_t over = 0;
  for (auto& entry : open_) {
    if (entry.coordinator == coordinator && entry.number == number && !entry.has_accepted)
      entry.over = status;
    if (entry.over != PMIX_SUCCESS) ++over;
  }
  // The oldest ones go: their processes never answered.
  open_.remove_if(
      [&](const Entry& entry) { return entry.over != PMIX_SUCCESS && over > most_over && over-- != 0; });
}

void Invited::tell_failed(const Entry& entry) {
  events_.tell({PMIX_GROUP_LEADER_FAILED, entry.leader, entry.group, nullptr, &entry.leader}, {entry.proc});
}

void Invited::erase(const Entry& entry) {
  open_.remove_if([&](const Entry& each) {
    return each.number == entry.number && each.coordinator == entry.coordinator &&
           link::is_same(each.proc, entry.proc);
  });
}

FencePart Invited::part_in(const FenceName& name) const {
  const auto procs = procs_of(name.procs);
  return local_part(jobs_, procs ? *procs : Procs(), name, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    const bool is_awaited = std::any_of(open_.begin(), open_.end(), [&](const Entry& each) {
      return !each.has_accepted && each.over == PMIX_SUCCESS && each.number == name.generation &&
             link::is_same(each.proc, proc) && invitation_to(each.group) == name.operation;
    });
    return !is_awaited && !questions_.is_asked(proc, name.operation);
  });
}

}  // namespace weft::server
