// SPDX-License-Identifier: BSD-3-Clause
// Which algorithms collectives of a cluster's nodes take, and why, for observers (docs/scale/collectives.md).
#pragma once

#include "collectives/engine.hpp"
#include "core/server/reports/report.hpp"

namespace weft::server {

/// Adds a barrier, and exchanges to which each of the report's nodes gives as much; nothing where there is
/// one node. The nodes that are there count.
void add_choices(const collectives::Engine::Options& engine, ClusterReport& report);

}  // namespace weft::server
