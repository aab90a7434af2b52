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

void Gatherings::enter(Kind kind, const Requester& from, Procs procs, data::Infos directives) {
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  auto set = canonical(procs);
  if (set.empty() || !events::covers(set, from.proc())) return from.reply(PMIX_ERR_BAD_PARAM);
  const auto timeout = data::timeout_in(directives);
  if (!timeout) return from.reply(PMIX_ERR_BAD_PARAM);
  const auto open = find_or_begin(kind, from, std::move(procs), std::move(set), std::move(directives));
  open->arrived.push_back(from);
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

/// Threads of one process may be in two of the same set: each call of a process belongs to another one.
Gatherings::Open Gatherings::find_or_begin(Kind kind, const Requester& from, Procs&& procs, Procs&& set,
                                           data::Infos&& directives) {
  const auto& job = *from.connection->job;
  const auto local = from.connection->local;
  const auto found = std::find_if(open_.begin(), open_.end(), [&](const Gathering& each) {
    return each.kind == kind && is_same(each.set, set) && !has_arrived(each.arrived, job, local);
  });
  if (found != open_.end()) return found;
  return open_.insert(open_.end(),
                      Gathering{kind, std::move(set), std::move(procs), std::move(directives), {}, nullptr});
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
  call_host(gathering.kind, std::move(gathering.named), std::move(gathering.directives),
            [arrived = std::move(gathering.arrived)](pmix_status_t status) {
              for (const auto& each : arrived) each.reply(status);
            });
}

void Gatherings::fail(Open open, pmix_status_t status) {
  auto gathering = std::move(*open);
  open_.erase(open);
  for (const auto& each : gathering.arrived) each.reply(status);
  gathering.directives.add(PMIX_LOCAL_COLLECTIVE_STATUS, data::Value::of_status(status));
  call_host(gathering.kind, std::move(gathering.named), std::move(gathering.directives),
            [](pmix_status_t) {});
}

void Gatherings::call_host(Kind kind, Procs procs, data::Infos directives, Done done) {
  if (kind == Kind::connect)
    host_.connect({std::move(procs), std::move(directives)}, std::move(done));
  else
    host_.disconnect({std::move(procs), std::move(directives)}, std::move(done));
}

void Gatherings::lose(const pmix_proc_t& proc, pmix_status_t status) {
  for (auto open = open_.begin(); open != open_.end();) {
    const auto lost = open++;
    if (events::covers(lost->set, proc)) fail(lost, status);
  }
}

}  // namespace weft::server
