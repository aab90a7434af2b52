// SPDX-License-Identifier: BSD-3-Clause
// The processes of a set that live on this node.
#pragma once

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

}  // namespace weft::server
