// SPDX-License-Identifier: BSD-3-Clause
// A job that a process of a running one has asked for: its options, and where it goes. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/job/spawn.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// The run that it is to be a part of.
struct SpawningRun {
  const Options& options;  ///< of the job that the user started
  const Plan& plan;        ///< the same
};

/// inherited: the parent's changes of its environment, which the children have too. Throws Stop (usage): a
/// value is wrong.
Options spawn_options(const job::SpawnRequest& request, const SpawningRun& run,
                      const std::vector<job::EnvironmentSetting>& inherited);

/// A node of the run, by number.
struct NodeNow {
  std::uint32_t ranks = 0;  ///< that run there
  bool is_lost = false;
};

/// On the nodes of the run, the spares too; their numbers stay. Throws Stop (usage): there is no room, or no
/// such node.
Plan spawn_plan(const Options& options, const Plan& run, const std::vector<NodeNow>& now);

/// A plan of all nodes of the run, the spares too, without ranks.
Plan nodes_of_run(const Plan& run);

}  // namespace weft::weftrun
