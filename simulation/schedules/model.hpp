// SPDX-License-Identifier: BSD-3-Clause
// What the servers' cost model makes of the costs that are simulated: servers that have measured this
// network.
#pragma once

#include "collectives/cost.hpp"
#include "simulation/schedules/run.hpp"

namespace weft::simulation {

collectives::Costs model_of(const Costs& costs) noexcept;

}  // namespace weft::simulation
