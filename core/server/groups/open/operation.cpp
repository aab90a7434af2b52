// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/open/operation.hpp"

#include <algorithm>

#include "core/server/fences/local_part.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {

const Arrival* Operation::find(const pmix_proc_t& proc) const noexcept {
  const auto found = std::find_if(arrived.begin(), arrived.end(), [&](const Arrival& arrival) {
    return link::is_same(arrival.from.proc(), proc);
  });
  return found == arrived.end() ? nullptr : &*found;
}

void Operation::take_out(const pmix_proc_t& proc) {
  std::erase_if(arrived, [&](const Arrival& each) { return link::is_same(each.from.proc(), proc); });
}

bool asks_handlers(const Arrival& arrival) {
  return is_set(arrival.directives, PMIX_GROUP_LEADER) ||
         is_set(arrival.directives, PMIX_GROUP_NOTIFY_TERMINATION);
}

collectives::AfterLoss after_loss_of(const Operation& operation) {
  using collectives::AfterLoss;
  if (!operation.is_of_group()) return AfterLoss::ends;
  if (operation.goes_on_smaller) return AfterLoss::goes_on;
  const auto& arrived = operation.arrived;
  const bool asks = operation.is_constructed() && std::any_of(arrived.begin(), arrived.end(), asks_handlers);
  return asks ? AfterLoss::asks : AfterLoss::fails;
}

Participants participants_of(const Operation& operation) {
  return Participants(operation.set, operation.name, after_loss_of(operation));
}

bool has_arrived(const Operation& operation, const Job& job, std::uint32_t local) noexcept {
  return std::any_of(operation.arrived.begin(), operation.arrived.end(), [&](const Arrival& arrival) {
    const auto& connection = *arrival.from.connection;
    return connection.job == &job && connection.local == local;
  });
}

pmix_status_t end_of(const Job& job, std::uint32_t local) noexcept {
  const auto state = job.view().local(local).state.load(std::memory_order_relaxed);
  if (state == store::Local::gone) return PMIX_ERR_PROC_ABORTED;
  return state == store::Local::finalized ? PMIX_ERR_UNREACH : PMIX_SUCCESS;
}

Missing missing_of(const Jobs& jobs, const Operation& operation) {
  Missing out;
  each_local(jobs, operation.set, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    if (has_arrived(operation, job, local) || contains(operation.lost, proc)) return;
    const auto end = end_of(job, local);
    if (end == PMIX_SUCCESS) out.to_come.push_back(proc);
    if (out.lost == PMIX_SUCCESS) out.lost = end;
  });
  return out;
}

FencePart part_of(const Jobs& jobs, const Operation& operation, std::uint64_t generation) {
  return local_part(jobs, operation.set, {runs_of(operation.set), generation, operation.name},
                    [&](const Job& job, std::uint32_t local) { return has_arrived(operation, job, local); });
}

}  // namespace weft::server
