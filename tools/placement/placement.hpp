// SPDX-License-Identifier: BSD-3-Clause
// How many ranks of each program go to each node, and in which order: a pure function of the nodes' slots and of what the
// user asks for. Where on its node a rank runs is mapping.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/allocation/hosts.hpp"
#include "tools/job/app.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::placement {

struct PlacementRules {
  job::MapBy map = job::MapBy::slot;      ///< automatic is slot
  std::optional<std::uint32_t> per_node;  ///< ppr:N:node
  std::optional<RankBy> order;            ///< unset: by node if mapped by node, else by slot
  bool may_oversubscribe = false;
};

/// By slot: each node is filled before the next one is begun; what is left when all slots are taken goes round again, to
/// each as many as it has slots. By node: one rank to each node that has a free slot in turn; then, one to each. A
/// program begins where the one before it has ended. ppr:N:node: N ranks on each node, in the nodes' order.
///   ranks   of each program; 0: as many as there are slots free (with ppr:N:node: N on each node)
/// Throws Stop (usage): more ranks than slots, with both numbers and the way out.
Distribution place(const std::vector<std::uint32_t>& ranks, const allocation::Hosts& hosts,
                   const PlacementRules& rules);

}  // namespace weft::placement
