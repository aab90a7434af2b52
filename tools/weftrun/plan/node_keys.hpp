// SPDX-License-Identifier: BSD-3-Clause
// The keys of a plan's nodes, as the launch order of a job has them.
#pragma once

#include <vector>

#include "tools/job/node_keys.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// Of `plan.nodes`, in the order in which keys are first named. What a node has of its own goes before what
/// all have.
std::vector<job::NodeKey> node_keys_of(const Plan& plan);

/// Throws Stop (usage) where the nodes, the spares too, have more of keys than a launch order takes along.
void check_node_keys(const Plan& plan);

}  // namespace weft::weftrun
