// SPDX-License-Identifier: BSD-3-Clause
// Daemons of debuggers: which jobs a request for them comes to, and which nodes they go to (PMIx Standard,
// chapter "Tools and Debuggers"). Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/job/spawn.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/plan/plan.hpp"
#include "tools/weftrun/plan/spawn_plan.hpp"

namespace weft::weftrun {

/// The jobs that one call of PMIx_Spawn asks for: first that of its programs, then the daemons of debuggers
/// in one job, and each program that is to be spawned apart in one of its own. A request for daemons alone,
/// or for one program, is one job.
std::vector<job::SpawnRequest> jobs_of(const job::SpawnRequest& request);

/// The job is of daemons that go where the processes of their target are.
bool goes_to_target(const job::SpawnRequest& request);

/// Daemons beside the processes of their target, whatever slots are free there. target: its job's table; now:
/// of all nodes of the run. Throws Stop: no process of the target is on a node that is there.
Plan debugger_plan(const job::SpawnRequest& request, const Plan& run, const std::vector<NodeNow>& now,
                   const placement::RankTable& target);

}  // namespace weft::weftrun
