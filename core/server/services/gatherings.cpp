// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/services/gatherings.hpp"

#include <algorithm>

#include "core/data/deadline.hpp"
#include "core/events/range.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

bool has_arrived(const std::vector<Requester>& arrived, const Job& job, std::uint32_t local) {
  return std::any_of(arrived.begin(), arrived.end(), [&](const Requester& requester) {
    return requester.connection->job == &job && requester.connection->local == local;
  });
}

}  // namespace

void Gatherings::enter(const Requester& from, Call call) {
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  const auto set = set_of(call);
  if (set.empty() || !events::covers(set, from.proc())) return from.reply(PMIX_ERR_BAD_PARAM);
  const auto timeout = data::timeout_in(call.directives);
  if (!timeout) return from.reply(PMIX_ERR_BAD_PARAM);
  const auto open = find_or_begin(from, std::move(call), set);
  open->arrived.push_back(from);
  if (!is_same(open->set, set))
    return fail(open, PMIX_ERR_BAD_PARAM);  // members that do not agree on the group
  if (is_complete(*open)) return hand_to_host(open);
  if (const auto status = status_of_lost(*open); status != PMIX_SUCCESS) return fail(open, status);
  if (!*timeout || open->deadline != nullptr) return;
  open->deadline = std::make_unique<asio::steady_timer>(loop_, std::min(**timeout, data::longest_timeout));
  open->deadline->async_wait([this, timer = open->deadline.get()](const std::error_code& error) {
    const auto late = std::find_if(open_.begin(), open_.end(),
                                   [&](const Gathering& each) { return each.deadline.get() == timer; });
    if (!error && late != open_.end()) fail(late, PMIX_ERR_TIMEOUT);
  });
}

void Gatherings::enter_destruct(const Requester& from, link::GroupDestruct message) {
  const auto* members = groups_.members(message.group);
  if (members == nullptr) return from.reply(PMIX_ERR_NOT_FOUND);
  enter(from, {Kind::destruct, std::move(message.group), *members, std::move(message.directives)});
}

/// Members of a group may spell a job as the wildcard or rank by rank, unlike participants of the other calls.
Procs Gatherings::set_of(const Call& call) const {
  if (call.group.empty()) return canonical(call.procs);
  Procs out;
  for (const auto& proc : call.procs) {
    const auto nspace = link::nspace_of(proc);
    const auto* job = proc.rank == PMIX_RANK_WILDCARD ? jobs_.find(nspace) : nullptr;
    if (job == nullptr) out.push_back(proc);
    for (std::uint32_t rank = 0; job != nullptr && rank < job->view().ranks(); ++rank)
      out.push_back(link::make_proc(nspace, rank));
  }
  return canonical(std::move(out));
}

/// Threads of one process may be in two of the same: each call of a process belongs to another one.
Gatherings::Open Gatherings::find_or_begin(const Requester& from, Call&& call, const Procs& set) {
  const auto& job = *from.connection->job;
  const auto local = from.connection->local;
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Gathering& each) {
    const bool is_it = each.call.kind == call.kind && each.call.group == call.group &&
                       (!call.group.empty() || is_same(each.set, set));
    return is_it && !has_arrived(each.arrived, job, local);
  });
  if (found != open_.end()) return found;
  return open_.insert(open_.end(), Gathering{std::move(call), set, {}, nullptr});
}

bool Gatherings::is_complete(const Gathering& gathering) const {
  bool out = true;
  each_local(jobs_, gathering.set, [&](const Job& job, std::uint32_t local) {
    out = out && has_arrived(gathering.arrived, job, local);
  });
  return out;
}

/// Of a participant of this node that was lost before the first one called; PMIX_SUCCESS: there is none.
pmix_status_t Gatherings::status_of_lost(const Gathering& gathering) const {
  auto out = PMIX_SUCCESS;
  each_local(jobs_, gathering.set, [&](const Job& job, std::uint32_t local) {
    if (has_arrived(gathering.arrived, job, local)) return;
    const auto state = job.view().local(local).state.load(std::memory_order_relaxed);
    if (state == store::Local::gone) out = PMIX_ERR_PROC_ABORTED;
    if (state == store::Local::finalized && out == PMIX_SUCCESS) out = PMIX_ERR_UNREACH;
  });
  return out;
}

void Gatherings::hand_to_host(Open open) {
  auto gathering = std::move(*open);
  open_.erase(open);
  call_host(std::move(gathering.call),
            [arrived = std::move(gathering.arrived)](pmix_status_t status, data::Infos infos) {
              const link::Answer answer{status, {}, std::move(infos)};
              for (const auto& each : arrived) each.answer(answer);
            });
}

void Gatherings::fail(Open open, pmix_status_t status) {
  auto gathering = std::move(*open);
  open_.erase(open);
  for (const auto& each : gathering.arrived) each.reply(status);
  gathering.call.directives.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(status));
  call_host(std::move(gathering.call), [](pmix_status_t, data::Infos) {});
}

void Gatherings::call_host(Call call, Host::Answered done) {
  auto& [kind, group, procs, directives] = call;
  auto without_infos = [&] { return [done = std::move(done)](pmix_status_t status) { done(status, {}); }; };
  switch (kind) {
    case Kind::connect:
      return host_.connect({std::move(procs), std::move(directives)}, without_infos());
    case Kind::disconnect:
      return host_.disconnect({std::move(procs), std::move(directives)}, without_infos());
    case Kind::construct:
      return groups_.construct({std::move(group), std::move(procs), std::move(directives)}, std::move(done));
    case Kind::destruct:
      return groups_.destruct({std::move(group), std::move(procs), std::move(directives)}, std::move(done));
  }
}

void Gatherings::lose(const pmix_proc_t& proc, pmix_status_t status) {
  for (auto open = open_.begin(); open != open_.end();) {
    const auto lost = open++;
    if (events::covers(lost->set, proc)) fail(lost, status);
  }
}

}  // namespace weft::server
