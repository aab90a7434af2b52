// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/gatherings.hpp"

#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

using Kind = Meeting::Kind;

bool contains(const Procs& procs, const pmix_proc_t& proc) noexcept {
  return std::any_of(procs.begin(), procs.end(),
                     [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
}

/// PMIX_SUCCESS: it may still call.
pmix_status_t end_of(const Job& job, std::uint32_t local) noexcept {
  const auto state = job.view().local(local).state.load(std::memory_order_relaxed);
  if (state == store::Local::gone) return PMIX_ERR_PROC_ABORTED;
  return state == store::Local::finalized ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

bool is_optional(const Arrival& arrival) {
  const auto* info = arrival.directives.find(PMIX_GROUP_OPTIONAL);
  return info != nullptr && data::is_true(info->value);
}

}  // namespace

Gatherings::Gatherings(asio::io_context& loop, Jobs& jobs, Host& host, Groups& groups, Cluster* cluster)
    : loop_(loop), jobs_(jobs), host_(host), groups_(groups) {
  if (cluster != nullptr) join(*cluster);
}

void Gatherings::join(Cluster& cluster) {
  cluster.rpc().on(RequestType::group_part,
                   [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_part(body, reply); });
}

void Gatherings::enter(const Requester& from, Kind kind, std::string group, Procs procs,
                       data::Infos directives, std::chrono::milliseconds waited) {
  auto set = group.empty() ? canonical(procs) : set_of_group(procs);
  Arrival arrival{from, std::move(procs), std::move(directives), waited};
  const bool goes_on_smaller = kind == Kind::construct && is_optional(arrival);
  enter(kind, std::move(group), std::move(set), std::move(arrival), goes_on_smaller);
}

void Gatherings::enter_destruct(const Requester& from, link::GroupDestruct message) {
  const auto* group = groups_.table().find(message.group);
  auto members = group != nullptr ? link::procs_of(group->members) : weft::fail(Errc::not_found);
  if (!members) return from.reply(PMIX_ERR_NOT_FOUND);
  const auto set = set_of_group(*members);
  auto in_order = std::is_sorted(members->begin(), members->end(), link::is_less) ? set : std::move(*members);
  enter(Kind::destruct, std::move(message.group), set,
        {from, std::move(in_order), std::move(message.directives),
         std::chrono::milliseconds(message.waited_ms)},
        group->tells_ends);
}

void Gatherings::enter(Kind kind, std::string group, Procs set, Arrival arrival, bool goes_on_smaller) {
  const auto from = arrival.from;
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  if (set.empty() || !events::covers(set, from.proc())) return from.reply(PMIX_ERR_BAD_PARAM);
  const auto timeout = data::timeout_in(arrival.directives);
  if (!timeout) return from.reply(PMIX_ERR_BAD_PARAM);
  if (kind == Kind::disconnect && !host_.does_connect() && !groups_.are_connected(set))
    return from.reply(PMIX_ERR_INVALID_OPERATION);
  Meeting fresh{.kind = kind, .group = std::move(group), .set = set};
  if (is_of_group(fresh)) groups_.boards().dissolve(set);  // members that wait there come here, too
  auto open = find(fresh, from);
  if (open == open_.end()) open = open_.insert(open, Gathering{std::move(fresh)});
  auto& meeting = open->meeting;
  const auto waited = arrival.waited;
  open->since = std::min(open->since, Clock::now() - waited);
  meeting.arrived.push_back(std::move(arrival));
  meeting.goes_on_smaller |= goes_on_smaller && !is_by_host(meeting);
  if (auto until = data::deadline_after(*timeout);
      until && (!meeting.deadline || *until - waited < *meeting.deadline))
    meeting.deadline = *until - waited;
  if (!is_same(meeting.set, set)) return fail(open, PMIX_ERR_BAD_PARAM);  // they do not agree on the group
  if (meeting.goes_on_smaller) leave_out_lost(meeting);
  if (is_complete(meeting)) return complete(open);
  if (const auto status = status_of_lost(meeting); status != PMIX_SUCCESS) return fail(open, status);
  watch_deadline(open);
}

/// Members of a group may spell a job as the wildcard or rank by rank, unlike participants of the other calls: a job that is named rank by
/// rank becomes the wildcard.
Procs Gatherings::set_of_group(const Procs& procs) const {
  const auto set = canonical(procs);
  Procs out;
  for (auto first = set.begin(); first != set.end();) {
    const auto nspace = link::nspace_of(*first);
    const auto last = std::find_if(first, set.end(),
                                   [&](const pmix_proc_t& proc) { return link::nspace_of(proc) != nspace; });
    const auto* job = jobs_.find(nspace);
    const bool is_whole = job != nullptr &&
                          last - first == static_cast<std::ptrdiff_t>(job->view().ranks()) &&
                          std::prev(last)->rank == job->view().ranks() - 1;
    if (is_whole)
      out.push_back(link::make_proc(nspace, PMIX_RANK_WILDCARD));
    else
      out.insert(out.end(), first, last);
    first = last;
  }
  return out;
}

/// Calls of one kind and set belong together; of a group, those of its name. Threads of one process may be in two of the same: each call
/// of a process belongs to another one.
Gatherings::Open Gatherings::find(const Meeting& meeting, const Requester& from) {
  return std::find_if(open_.begin(), open_.end(), [&](const Gathering& each) {
    const auto& open = each.meeting;
    const bool is_it = open.kind == meeting.kind && open.group == meeting.group &&
                       (!meeting.group.empty() || is_same(open.set, meeting.set));
    return is_it && !has_arrived(open, *from.connection->job, from.connection->local);
  });
}

bool Gatherings::is_complete(const Meeting& meeting) const {
  bool out = true;
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

/// Of a participant of this node that was lost before it called, and is waited for; PMIX_SUCCESS: there is none.
pmix_status_t Gatherings::status_of_lost(const Meeting& meeting) const {
  auto out = PMIX_SUCCESS;
  if (meeting.goes_on_smaller) return out;
  each_local(jobs_, meeting.set, [&](const Job& job, std::uint32_t local) {
    if (has_arrived(meeting, job, local)) return;
    const auto status = end_of(job, local);
    if (status == PMIX_ERR_PROC_ABORTED || out == PMIX_SUCCESS) out = status;  // a death is the worse of two
  });
  return out;
}

void Gatherings::watch_deadline(Open open) {
  if (!open->meeting.deadline) return;
  open->deadline = std::make_unique<asio::steady_timer>(loop_, *open->meeting.deadline);
  open->deadline->async_wait([this, timer = open->deadline.get()](const std::error_code& error) {
    const auto late = std::find_if(open_.begin(), open_.end(),
                                   [&](const Gathering& each) { return each.deadline.get() == timer; });
    if (!error && late != open_.end()) fail(late, PMIX_ERR_TIMEOUT);
  });
}

void Gatherings::complete(Open open) {
  auto meeting = std::move(open->meeting);
  open_.erase(open);
  meeting.is_alone = std::none_of(open_.begin(), open_.end(), [&](const Gathering& each) {
    return is_of_group(each.meeting) && is_same(each.meeting.set, meeting.set);
  });
  if (!is_by_host(meeting)) return groups_.run(std::move(meeting));
  struct Waiting {
    std::vector<Requester> arrived;
    Blob members;  ///< of a group that is constructed
  };
  const auto waiting = std::make_shared<Waiting>();
  for (const auto& arrival : meeting.arrived) waiting->arrived.push_back(arrival.from);
  if (meeting.kind == Kind::construct)
    waiting->members = link::encode(link::GroupMembers{groups_.by_rank(meeting.arrived.front().procs)});
  call_host(std::move(meeting), [waiting](pmix_status_t status, data::Infos infos) {
    link::Answer answer{status, {}, std::move(infos)};
    if (!waiting->members.empty()) answer.value = data::Value::of_bytes(waiting->members);
    const auto bytes = link::encode(answer);
    for (const auto& each : waiting->arrived) each.answer_encoded(bytes);
  });
}

void Gatherings::fail(Open open, pmix_status_t status) {
  auto meeting = std::move(open->meeting);
  open_.erase(open);
  if (!is_by_host(meeting)) return groups_.fail(meeting, status);
  for (const auto& arrival : meeting.arrived) arrival.from.reply(status);
  meeting.arrived.front().directives.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(status));
  call_host(std::move(meeting), [](pmix_status_t, data::Infos) {});
}

bool Gatherings::is_by_host(const Meeting& meeting) const noexcept {
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
                           if (status == PMIX_SUCCESS) groups_.table().add(group, {members});
                           done(status, std::move(infos));
                         });
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
  groups_.boards().lose(link::make_proc(nspace, PMIX_RANK_WILDCARD));
  groups_.forget(nspace);
}

void Gatherings::look_at(const pmix_proc_t& member, store::BoardNumber number) {
  groups_.boards().look_at(member, number);
  groups_.table().settle();
}

void Gatherings::lose(const pmix_proc_t& proc, pmix_status_t status) {
  groups_.boards().lose(proc);
  for (auto open = open_.begin(); open != open_.end();) {
    const auto lost = open++;
    auto& meeting = lost->meeting;
    if (!events::covers(meeting.set, proc)) continue;
    if (!meeting.goes_on_smaller) {
      fail(lost, status);
      continue;
    }
    // It may have called, and is one that has come then.
    std::erase_if(meeting.arrived,
                  [&](const Arrival& arrival) { return link::is_same(arrival.from.proc(), proc); });
    if (!contains(meeting.lost, proc)) meeting.lost.push_back(proc);
    if (is_complete(meeting)) complete(lost);
  }
  for (const auto& name : groups_.process_ended(proc)) {
    const auto* group = groups_.table().find(name);
    auto members = link::procs_of(group->members);
    const bool is_awaited = group->tells_ends && !host_.does_groups() && members;
    if (is_awaited)
      groups_.run(
          {.kind = Kind::destruct, .group = name, .set = set_of_group(*members), .goes_on_smaller = true});
    groups_.table().erase(name);
  }
}

// ---- which ranks are missing

FencePart Gatherings::part_of(const Gathering& gathering) const {
  const auto& meeting = gathering.meeting;
  const bool is_shared = !is_by_host(meeting) && groups_.has_other_nodes(meeting.set);
  auto part =
      server::part_of(jobs_, meeting, is_shared ? groups_.attempts(groups_.participants_of(meeting)) + 1 : 1);
  part.age_ms = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - gathering.since).count());
  return part;
}

std::vector<FencePart> Gatherings::open_parts() const {
  auto out = groups_.open_parts();
  for (const auto& gathering : open_) out.push_back(part_of(gathering));
  return out;
}

std::vector<Fences::Waiting> Gatherings::waiting_for(std::chrono::seconds limit) {
  std::vector<Fences::Waiting> out;
  for (auto& gathering : open_) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - gathering.since);
    if (gathering.is_reported || age < limit) continue;
    gathering.is_reported = true;
    const bool is_shared = !is_by_host(gathering.meeting) && groups_.has_other_nodes(gathering.meeting.set);
    out.push_back({part_of(gathering), age, is_shared});
  }
  return out;
}

const Gatherings::Gathering* Gatherings::find(const FenceName& name, const Procs& set) const {
  const auto open = std::find_if(open_.begin(), open_.end(), [&](const Gathering& each) {
    return operation_of(each.meeting) == name.operation && is_same(each.meeting.set, set);
  });
  return open == open_.end() ? nullptr : &*open;
}

std::optional<FencePart> Gatherings::part_in(const FenceName& name) const {
  auto procs = procs_of(name.procs);
  if (!procs || jobs_.nodes_of(*procs).empty()) return std::nullopt;
  const Participants participants(std::move(*procs), name.operation);
  const auto attempts = groups_.attempts(participants);
  const auto* open = find(name, participants.procs());
  if (open != nullptr && name.generation == attempts + 1) return part_of(*open);
  auto part = server::part_of(jobs_, {.set = participants.procs()}, name.generation);
  part.name.operation = name.operation;
  if (name.generation > attempts) return part;
  part.missing.clear();
  part.arrived = part.ranks;
  part.state = FencePart::State::entered;
  return part;
}

/// Another node is in this operation and asks whether our part of it has come, or will. If a participant of this node was lost before any
/// has called, it never will: then it ends at all nodes, or this node takes part for those that are lost.
void Gatherings::answer_part(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  const auto part = name ? part_in(*name) : std::nullopt;
  if (!part) return reply(name ? PMIX_ERR_NOT_FOUND : PMIX_ERR_BAD_PARAM, {});
  const Participants participants(*procs_of(name->procs), name->operation);
  if (find(*name, participants.procs()) == nullptr &&
      name->generation == groups_.attempts(participants) + 1) {
    Meeting meeting{
        .kind = Kind::construct, .group = constructed_by(name->operation), .set = participants.procs()};
    const auto why = status_of_lost(meeting);
    if (why != PMIX_SUCCESS && name->goes_on_smaller == 0) groups_.refuse(participants, why);
    if (why != PMIX_SUCCESS && name->goes_on_smaller != 0 && !meeting.group.empty()) {
      meeting.goes_on_smaller = true;
      leave_out_lost(meeting);
      if (is_complete(meeting)) groups_.run(std::move(meeting));
    }
  }
  reply(PMIX_SUCCESS, encode(*part));
}

}  // namespace weft::server
