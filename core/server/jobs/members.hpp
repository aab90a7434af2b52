// SPDX-License-Identifier: BSD-3-Clause
// What this node has to do with the processes of a set.
#pragma once

#include <algorithm>

#include "core/link/messages.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

/// Calls see(job, local) for each of `procs` that is a local rank of a job that is known.
template <class JobsOf, class See>
void each_local(JobsOf& jobs, const Procs& procs, See&& see) {
  for (const auto& proc : procs) {
    auto* job = jobs.known(link::nspace_of(proc));
    if (job == nullptr) continue;
    const auto& view = job->view();
    if (proc.rank == PMIX_RANK_WILDCARD) {
      for (std::uint32_t local = 0, count = view.local_count(); local < count; ++local) see(*job, local);
    } else if (const auto local = view.local_index(proc.rank); local != store::none) {
      see(*job, local);
    }
  }
}

/// The jobs of these processes, which one collective names, have met. Cost: O(processes).
inline void note_meeting(Jobs& jobs, const Procs& procs) {
  const bool is_of_one = std::all_of(procs.begin(), procs.end(), [&](const pmix_proc_t& proc) {
    return link::is_of(proc, link::nspace_of(procs.front()));
  });
  if (is_of_one) return;
  for (const auto& proc : procs)
    if (auto* job = jobs.known(link::nspace_of(proc))) job->has_met = true;
}

/// The connection of a client of this node. Null: it is not connected, or lives elsewhere.
inline ConnectionRef connection_of(const Jobs& jobs, const pmix_proc_t& proc) {
  const auto* job = jobs.find(link::nspace_of(proc));
  const auto local = job == nullptr ? store::none : job->view().local_index(proc.rank);
  const auto open = local == store::none ? std::nullopt : std::optional(job->connections.find(local));
  return open && *open != job->connections.end() ? (*open)->second : nullptr;
}

}  // namespace weft::server
