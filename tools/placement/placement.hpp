// SPDX-License-Identifier: BSD-3-Clause
// How many ranks of each program go to each node, and in which order: a pure function of the nodes' slots and
// of what the user asks for. The processors that a rank gets there are decided in mapping.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/allocation/hosts.hpp"
#include "tools/job/mapping.hpp"
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

/// Nodes that some of the programs fill.
struct Pool {
  allocation::Hosts hosts;
  bool may_oversubscribe = false;
  std::vector<std::size_t> programs;  ///< their numbers
};

/// The hosts are those of all pools, in the order of their first mention; one that several have has the sum
/// of their slots.
struct Placed {
  allocation::Hosts hosts;
  Distribution distribution;
};

/// ranks: of each program, as for place(), whose errors these are. Each program is in one pool.
Placed place_in_pools(const std::vector<std::uint32_t>& ranks, const std::vector<Pool>& pools,
                      PlacementRules rules);

}  // namespace weft::placement
