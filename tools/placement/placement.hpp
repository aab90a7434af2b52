// SPDX-License-Identifier: BSD-3-Clause
// How many ranks of each program go to each node, and in which order: a pure function of the nodes' slots and
// of what the user asks for. Which processors it gets there is decided in mapping.hpp.
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

/// By slot: each node is filled before the next node is begun; ranks that are left when all slots are taken
/// fill the nodes again, each with as many ranks as it has slots. By node: one rank to each node with a free
/// slot in turn; when all slots are taken, one rank to each node in turn. A program begins where the program
/// before it has ended. ppr:N:node: N ranks on each node, in the nodes' order.
///   ranks   of each program; 0: as many as there are slots free (with ppr:N:node: N on each node)
/// Throws Stop (usage): more ranks than slots, with both numbers and the way out.
Distribution place(const std::vector<std::uint32_t>& ranks, const allocation::Hosts& hosts,
                   const PlacementRules& rules);

}  // namespace weft::placement
