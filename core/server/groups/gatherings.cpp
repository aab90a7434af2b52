// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/gatherings.hpp"

#include <algorithm>
#include <iterator>

#include "core/data/types/array.hpp"
#include "core/events/range.hpp"
#include "core/server/jobs/members.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {
namespace {

using Kind = Meeting::Kind;

/// PMIX_SUCCESS: it may still call.
pmix_status_t end_of(const Job& job, std::uint32_t local) noexcept {
  const auto state = job.view().local(local).state.load(std::memory_order_relaxed);
  if (state == store::Local::gone) return PMIX_ERR_PROC_ABORTED;
  return state == store::Local::finalized ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

/// Of what find() looks at: the kind, and the group's name or the set.
std::size_t hash_of(const Meeting& meeting) {
  const std::hash<std::string_view> of_text;
  auto out = of_text(meeting.group) * 31 + static_cast<std::size_t>(meeting.kind);
  if (!meeting.group.empty()) return out;
  for (const auto& proc : meeting.set) out = (out * 31 + of_text(link::nspace_of(proc))) * 31 + proc.rank;
  return out;
}

/// When the caller gives up, which has waited for a while before its message.
data::Deadline deadline_in(const data::Infos& directives, Loop::TimePoint since) {
  const auto timeout = data::timeout_in(directives);
  return timeout ? data::deadline_after(*timeout, since) : data::Deadline();
}

}  // namespace

Gatherings::Gatherings(Loop& loop, Jobs& jobs, Host& host, Rooms rooms)
    : loop_(loop),
      jobs_(jobs),
      host_(host),
      groups_(rooms.groups),
      rooms_(rooms),
      operations_(rooms.operations),
      open_(operations_.gathering) {
  rooms_.bootstraps.on_ready([this](const Requester& from, link::GroupConstruct message) {
    enter(from, Kind::construct, std::move(message.group), std::move(message.procs),
          std::move(message.directives));
  });
  rooms_.memberships.on_left([this](const std::string& group, const pmix_proc_t& proc, const Procs& before) {
    left(group, proc, before);
  });
  rooms_.memberships.on_joined(
      [this](const std::string& group, const Procs& before) { joined(group, before); });
  rooms_.peers.on(RequestType::group_part,
                  [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_part(body, reply); });
  rooms_.peers.on(RequestType::group_aborted,
                  [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { take_abort(body, reply); });
}

void Gatherings::enter(const Requester& from, Kind kind, std::string group, Procs procs,
                       data::Infos directives, std::chrono::milliseconds waited) {
  auto set = group.empty() ? canonical(procs) : groups_.set_of_group(procs);
  if (!group.empty() &&
      groups_.takes(from, kind, group, &set, directives, deadline_in(directives, loop_.now() - waited)))
    return;
  Arrival arrival{from, std::move(procs), std::move(directives), waited};
  const bool goes_on_smaller =
      kind == Kind::construct && (is_set(arrival.directives, PMIX_GROUP_OPTIONAL) ||
                                  is_set(arrival.directives, PMIX_GROUP_FT_COLLECTIVE));
  enter(kind, std::move(group), std::move(set), std::move(arrival), goes_on_smaller);
}

void Gatherings::enter_destruct(const Requester& from, link::GroupDestruct message) {
  enter_group(from, Kind::destruct, message.group, std::move(message.directives),
              std::chrono::milliseconds(message.waited_ms));
}

void Gatherings::enter_fence(const Requester& from, link::GroupFence message) {
  enter_group(from, Kind::fence, message.group, std::move(message.directives),
              std::chrono::milliseconds(message.waited_ms));
}

void Gatherings::enter_group(const Requester& from, Kind kind, const std::string& name,
                             data::Infos directives, std::chrono::milliseconds waited) {
  if (groups_.takes(from, kind, name, nullptr, directives, deadline_in(directives, loop_.now() - waited)))
    return;
  const auto* group = groups_.table().find(name);
  auto members = group != nullptr ? link::procs_of(group->members) : weft::fail(Errc::not_found);
  if (!members || !link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_NOT_FOUND);
  const bool adjusts = group->options.adjusts || is_set(directives, PMIX_GROUP_FT_COLLECTIVE);
  const bool goes_on_smaller = adjusts || (kind == Kind::destruct && group->options.tells_ends);
  const auto set = groups_.set_of_group(*members);
  auto in_order = std::is_sorted(members->begin(), members->end(), link::is_less) ? set : std::move(*members);
  enter(kind, name, set, {from, std::move(in_order), std::move(directives), waited}, goes_on_smaller);
}

void Gatherings::enter(Kind kind, std::string group, Procs set, Arrival arrival, bool goes_on_smaller) {
  const auto from = arrival.from;
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  if (set.empty() || !events::covers(set, from.proc())) return from.reply(PMIX_ERR_BAD_PARAM);
  if (!data::timeout_in(arrival.directives)) return from.reply(PMIX_ERR_BAD_PARAM);
  if (kind == Kind::disconnect && !host_.does_connect() && !groups_.are_connected(set))
    return from.reply(PMIX_ERR_INVALID_OPERATION);
  Meeting fresh{.kind = kind, .group = std::move(group), .set = set};
  if (!owed_.empty())
    if (const auto over = owed_.take(owed_by(fresh), from.proc())) return from.reply(*over);
  if (is_of_group(fresh)) groups_.boards().dissolve(set);  // members that wait there come here, too
  auto open = find(fresh, from);
  if (open == open_.end()) open = add(std::move(fresh));
  auto& meeting = open->meeting;
  if (kind == Kind::construct && !is_by_host(meeting)) tell_others(meeting, arrival);
  const auto since = loop_.now() - arrival.waited;
  open->since = std::min(open->since, since);
  if (const auto deadline = deadline_in(arrival.directives, since);
      deadline && (!meeting.deadline || *deadline < *meeting.deadline))
    meeting.deadline = deadline;
  meeting.arrived.push_back(std::move(arrival));
  meeting.goes_on_smaller |= goes_on_smaller && !is_by_host(meeting);
  const bool may_differ = kind == Kind::fence;  // one that has begun before a process joined
  if (!may_differ && !is_same(meeting.set, set))
    return fail(open, PMIX_ERR_BAD_PARAM);  // they do not agree on the group
  if (meeting.goes_on_smaller) leave_out_lost(meeting);
  if (is_complete(*open)) return complete(open);
  watch_deadline(open);
  look_for_lost(open);
}

/// By the directives of the draft of RFC 0033 that this call brings.
void Gatherings::tell_others(const Meeting& meeting, const Arrival& arrival) {
  const bool tells = is_set(arrival.directives, PMIX_GROUP_NOTIFY_EACH);
  const bool requests = is_set(arrival.directives, PMIX_GROUP_NOTIFY_REQ);
  if (!tells && !requests) return;
  const auto& proc = arrival.from.proc();
  const auto members = groups_.by_rank(meeting.set);
  auto others = link::procs_of(members).value_or(Procs());
  std::erase_if(others, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  if (tells) rooms_.events.tell({PMIX_PROC_HAS_JOINED, proc, meeting.group, nullptr, &proc}, others);
  if (requests) rooms_.events.tell({PMIX_GROUP_REQUESTED, proc, meeting.group, &members, nullptr}, others);
}

/// Calls of one kind and set belong together; of a group, those of its name, and of its fences those of the
/// members that a fence has begun with. Threads of one process may be in two of the same: each call of a
/// process belongs to another one.
Gatherings::Open Gatherings::find(const Meeting& meeting, const Requester& from) {
  auto oldest = open_.end();
  const auto [first, last] = open_.by_hash(hash_of(meeting));
  for (auto each = first; each != last; ++each) {
    const auto& open = each->second->meeting;
    const bool is_of_its_members = meeting.group.empty()         ? is_same(open.set, meeting.set)
                                   : meeting.kind == Kind::fence ? events::covers(open.set, from.proc())
                                                                 : true;
    const bool is_it = open.kind == meeting.kind && open.group == meeting.group && is_of_its_members;
    if (!is_it || has_arrived(open, *from.connection->job, from.connection->local)) continue;
    if (oldest == open_.end() || each->second->number < oldest->number) oldest = each->second;
  }
  return oldest;
}

Gatherings::Open Gatherings::add(Meeting meeting) {
  const auto hash = hash_of(meeting);
  return open_.add(
      Gathering{.meeting = std::move(meeting), .number = ++last_, .hash = hash, .since = loop_.now()});
}

Gatherings::Open Gatherings::by_number(std::uint64_t number) {
  return open_.by_number(number);
}

bool Gatherings::is_complete(const Gathering& gathering) const {
  const auto& meeting = gathering.meeting;
  bool out = gathering.undecided.empty();
  each_local(jobs_, meeting.set, [&](const Job& job, std::uint32_t local) {
    out =
        out &&
        (has_arrived(meeting, job, local) ||
         (!meeting.lost.empty() && contains(meeting.lost, link::make_proc(job.nspace, job.rank_of(local)))));
  });
  return out;
}

void Gatherings::leave_out_lost(Meeting& meeting) const {
  each_local(jobs_, meeting.set, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    if (end_of(job, local) != PMIX_SUCCESS && !has_arrived(meeting, job, local) &&
        !contains(meeting.lost, proc))
      meeting.lost.push_back(proc);
  });
}

/// Participants of this node that were lost before they called, and are waited for; those that have died
/// first.
std::vector<Gatherings::Lost> Gatherings::lost_of(const Meeting& meeting) const {
  std::vector<Lost> out;
  each_local(jobs_, meeting.set, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    const auto status = end_of(job, local);
    if (status != PMIX_SUCCESS && !has_arrived(meeting, job, local) && !contains(meeting.lost, proc))
      out.push_back({proc, status});
  });
  std::stable_partition(out.begin(), out.end(),
                        [](const Lost& lost) { return lost.status == PMIX_ERR_PROC_ABORTED; });
  return out;
}

void Gatherings::look_for_lost(Open open) {
  const auto number = open->number;
  for (const auto& lost : lost_of(open->meeting))
    if (const auto still = by_number(number); still != open_.end()) lose_in(still, lost);
}

/// A participant of this node will not call, and may have called before. Only a construct asks what is to
/// become of it.
void Gatherings::lose_in(Open open, const Lost& lost) {
  auto& meeting = open->meeting;
  if (is_by_host(meeting))
    return fail(open, lost.status);  // with the directives of the lost one, if no other has called
  const auto* arrival = meeting.find(lost.proc);
  const bool was_leader = (arrival != nullptr && is_set(arrival->directives, PMIX_GROUP_LEADER)) ||
                          contains(open->leaders, lost.proc);
  std::erase_if(meeting.arrived,
                [&](const Arrival& each) { return link::is_same(each.from.proc(), lost.proc); });
  std::erase_if(open->leaders, [&](const pmix_proc_t& each) { return link::is_same(each, lost.proc); });
  if (meeting.goes_on_smaller) {
    if (!contains(meeting.lost, lost.proc)) meeting.lost.push_back(lost.proc);
    if (is_complete(*open)) complete(open);
    return;
  }
  const bool may_ask = meeting.kind == Kind::construct;
  const bool asks = was_leader || operations_.facts_of(operation_of(meeting), meeting.set).asks ||
                    groups_.has_other_nodes(meeting.set);
  if (contains(open->undecided, lost.proc)) return;
  if (!may_ask || !asks) return fail_for_all(open, lost.status, lost.proc);
  open->undecided.push_back(lost.proc);
  rooms_.losses.decide({name_of(meeting), meeting.group, lost.proc, lost.status, was_leader},
                       [this, number = open->number, proc = lost.proc](Losses::Outcome outcome) {
                         decided(number, proc, std::move(outcome));
                       });
}

/// It has called, and so have all others of this node: it is a member, and those that it led look for another
/// leader, or give up. This node's part is with the others, so the construct ends by a node whose part is
/// not: where all have called it is made.
void Gatherings::lose_leader(const pmix_proc_t& proc, pmix_status_t status) {
  for (const auto& [name, meeting] : groups_.constructs_led_by(proc))
    rooms_.losses.decide({name, meeting->group, proc, status, true, true},
                         [this, name = name, set = meeting->set](const Losses::Outcome& outcome) {
                           if (outcome.status == PMIX_GROUP_CONSTRUCT_ABORT) groups_.tell_aborted(name, set);
                         });
}

void Gatherings::decided(std::uint64_t number, const pmix_proc_t& proc, Losses::Outcome outcome) {
  const auto open = by_number(number);
  if (open == open_.end()) return;
  if (outcome.status == PMIX_GROUP_CONSTRUCT_ABORT)
    groups_.tell_aborted(name_of(open->meeting), open->meeting.set);
  if (outcome.status != PMIX_SUCCESS) return fail_for_all(open, outcome.status, proc);
  std::erase_if(open->undecided, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  open->meeting.lost.push_back(proc);
  open->leaders.insert(open->leaders.end(), outcome.leaders.begin(), outcome.leaders.end());
  if (is_complete(*open)) complete(open);
}

/// A member has left a group with members here: what the others wait for in it, here or at a board until now,
/// goes on without that member, or fails.
void Gatherings::left(const std::string& group, const pmix_proc_t& proc, const Procs& before) {
  const auto* now = groups_.table().find(group);
  const auto members = now == nullptr ? weft::fail(Errc::not_found) : link::procs_of(now->members);
  const auto set = groups_.set_of_group(members ? *members : Procs());
  // What is completed here may be the end of the group.
  const bool is_known = now != nullptr;
  const auto options = is_known ? now->options : GroupOptions();
  groups_.end_exchanges_of(group, set, proc);
  std::set<Kind> failed, going_on;
  for (auto each = open_.begin(); each != open_.end();) {
    const auto open = each++;
    auto& meeting = open->meeting;
    if (meeting.group != group || meeting.kind == Kind::construct || is_by_host(meeting)) continue;
    if (!events::covers(meeting.set, proc)) {  // it has begun before that process had joined
      going_on.insert(meeting.kind);
      continue;
    }
    (meeting.goes_on_smaller ? going_on : failed).insert(meeting.kind);
    if (!meeting.goes_on_smaller) {
      fail(open, Exchanges::changed);
      continue;
    }
    if (const auto* arrival = meeting.find(proc)) arrival->from.reply(PMIX_ERR_NOT_A_MEMBER);
    std::erase_if(meeting.arrived, [&](const Arrival& one) { return link::is_same(one.from.proc(), proc); });
    meeting.set = is_same(meeting.set, groups_.set_of_group(before)) ? set : without(meeting.set, proc);
    if (meeting.arrived.empty())
      open_.erase(open);
    else if (is_complete(*open))
      complete(open);
  }
  if (!is_known || options.adjusts) return;
  for (const auto kind : {Kind::fence, Kind::destruct}) {
    const bool goes_on = going_on.count(kind) != 0 || (kind == Kind::destruct && options.tells_ends);
    if (!goes_on) groups_.end_at_boards(kind, group, groups_.set_of_group(before), failed.count(kind) != 0);
  }
}

/// Processes have joined a group with members here. A fence that has begun here ends among the members that
/// it has begun with, also where these were at a board until now: it is open from here on, for those of them
/// that have not called. The end of the group waits for the new members, too.
void Gatherings::joined(const std::string& group, const Procs& before) {
  const auto* now = groups_.table().find(group);
  const auto members = now == nullptr ? weft::fail(Errc::not_found) : link::procs_of(now->members);
  if (!members || before.empty()) return;
  Meeting fence{.kind = Kind::fence, .group = group, .set = groups_.set_of_group(before)};
  bool is_open = false;
  for (auto& open : open_) {
    auto& meeting = open.meeting;
    if (meeting.group != group || is_by_host(meeting)) continue;
    if (meeting.kind == Kind::destruct) meeting.set = groups_.set_of_group(*members);
    is_open |= meeting.kind == Kind::fence && is_same(meeting.set, fence.set);
  }
  if (!is_open && groups_.has_fence_from_boards(group, fence.set)) add(std::move(fence));
}

/// The members of a group's set but one.
Procs Gatherings::without(const Procs& set, const pmix_proc_t& proc) const {
  auto procs = link::procs_of(groups_.by_rank(set)).value_or(Procs());
  std::erase_if(procs, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  return groups_.set_of_group(procs);
}

void Gatherings::watch_deadline(Open open) {
  if (!open->meeting.deadline) return;
  open->deadline =
      std::make_unique<Timer>(loop_, *open->meeting.deadline, [this, open] { fail(open, PMIX_ERR_TIMEOUT); });
}

void Gatherings::complete(Open open) {
  auto meeting = std::move(open->meeting);
  open_.erase(open);
  if (!is_by_host(meeting)) return groups_.run(std::move(meeting));
  struct Waiting {
    std::vector<Requester> arrived;
    Blob members;  ///< of a group that is constructed
  };
  const auto waiting = std::make_shared<Waiting>();
  for (const auto& arrival : meeting.arrived) waiting->arrived.push_back(arrival.from);
  if (meeting.kind == Kind::construct) waiting->members = members_of_host(meeting.arrived.front().procs);
  call_host(std::move(meeting), [waiting](pmix_status_t status, data::Infos infos) {
    link::Answer answer{status, {}, std::move(infos)};
    if (!waiting->members.empty()) answer.value = data::Value::of_bytes(waiting->members);
    const auto bytes = link::encode(answer);
    for (const auto& each : waiting->arrived) each.answer_encoded(bytes);
  });
}

/// Of a group that the host makes, as the value of its construct's answer.
Blob Gatherings::members_of_host(const Procs& procs) const {
  auto members = groups_.by_rank(procs);
  const bool fences_by_host = groups_.fences_by_host(members);
  return link::encode(link::GroupMembers{std::move(members), fences_by_host});
}

void Gatherings::fail(Open open, pmix_status_t status) {
  auto meeting = std::move(open->meeting);
  open_.erase(open);
  if (!is_by_host(meeting) || meeting.arrived.empty()) return groups_.fail(meeting, status);
  for (const auto& arrival : meeting.arrived) arrival.from.reply(status);
  meeting.arrived.front().directives.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(status));
  call_host(std::move(meeting), [](pmix_status_t, data::Infos) {});
}

/// Of a group the name alone: the attempt that has failed may be one without lost nodes, and its members call
/// for the first.
collectives::Signature Gatherings::owed_by(const Meeting& meeting) const {
  const auto signature = groups_.participants_of(meeting).signature();
  return is_of_group(meeting) ? collectives::Signature{signature.high, 0} : signature;
}

/// Also for the participants of this node that have not called, but for the lost one.
void Gatherings::fail_for_all(Open open, pmix_status_t status, const pmix_proc_t& lost) {
  const auto& meeting = open->meeting;
  Procs uncalled;
  each_local(jobs_, meeting.set, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    const bool may_call = end_of(job, local) == PMIX_SUCCESS && !link::is_same(proc, lost);
    if (may_call && !has_arrived(meeting, job, local)) uncalled.push_back(proc);
  });
  owed_.add(owed_by(meeting), status, link::runs_of(uncalled));
  fail(open, status);
}

bool Gatherings::is_by_host(const Meeting& meeting) const noexcept {
  if (meeting.kind == Kind::fence) return false;
  return is_of_group(meeting) ? host_.does_groups() : host_.does_connect();
}

/// With the arguments of the first participant.
void Gatherings::call_host(Meeting meeting, Host::Answered done) {
  auto& [from, procs, directives, waited] = meeting.arrived.front();
  auto without_infos = [&] { return [done = std::move(done)](pmix_status_t status) { done(status, {}); }; };
  switch (meeting.kind) {
    case Kind::connect:
      return host_.connect({std::move(procs), std::move(directives)}, without_infos());
    case Kind::disconnect:
      return host_.disconnect({std::move(procs), std::move(directives)}, without_infos());
    case Kind::construct:
      return host_.group(PMIX_GROUP_CONSTRUCT, {meeting.group, procs, std::move(directives)},
                         [this, group = meeting.group, members = groups_.by_rank(procs),
                          done = std::move(done)](pmix_status_t status, data::Infos infos) {
                           if (status == PMIX_SUCCESS)
                             groups_.table().add(group, {.members = members, .options = {}});
                           done(status, std::move(infos));
                         });
    case Kind::fence:  // no host's
      return;
    case Kind::destruct:
      return host_.group(
          PMIX_GROUP_DESTRUCT, {meeting.group, std::move(procs), std::move(directives)},
          [this, group = meeting.group, done = std::move(done)](pmix_status_t status, data::Infos infos) {
            if (status == PMIX_SUCCESS) groups_.table().erase(group);
            done(status, std::move(infos));
          });
  }
}

void Gatherings::forget(const std::string& nspace) {
  for (auto each = open_.begin(); each != open_.end();) {
    const auto open = each++;
    const auto& arrived = open->meeting.arrived;
    const bool is_its_own = std::all_of(arrived.begin(), arrived.end(), [&](const Arrival& arrival) {
      return link::is_of(arrival.from.proc(), nspace);
    });
    if (is_by_host(open->meeting) && is_its_own) open_.erase(open);
  }
}

void Gatherings::look_at(const pmix_proc_t& member, store::BoardNumber number) {
  for (auto& full : groups_.boards().look_at(member, number)) groups_.run_at_board(std::move(full));
  groups_.table().settle();
}

void Gatherings::lose(const pmix_proc_t& proc, pmix_status_t status) {
  owed_.lose(proc);
  std::vector<std::uint64_t> of_it;
  for (const auto& open : open_)
    if (events::covers(open.meeting.set, proc)) of_it.push_back(open.number);
  for (const auto number : of_it)
    if (const auto open = by_number(number); open != open_.end()) lose_in(open, {proc, status});
  lose_leader(proc, status);
}

}  // namespace weft::server
