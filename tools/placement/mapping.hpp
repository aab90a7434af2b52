// SPDX-License-Identifier: BSD-3-Clause
// Where on its node a rank runs: the processors of each rank under a policy. Pure functions.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/job/rank.hpp"
#include "tools/placement/policy.hpp"

namespace weft::placement {

struct Binding {
  std::vector<unsigned> processors;  ///< the operating system's numbers, ascending; empty: not bound
  std::string label;                 ///< "core 3", "cores 4-7", "NUMA node 1"
};

/// One binding for each rank of a node, in the order of local ranks. If there are more ranks than cores
/// (hardware threads, if ranks are bound to those), the cores are used again from the first. With
/// policy.cores_each that is so where the policy allows it, and the cores of a rank are of one NUMA node,
/// else of one socket, if all ranks have room that way.
///   before  number of ranks of other virtual nodes on this machine, which have the first cores
///   host    the node, for lines to the user
/// Throws Stop (usage): too few cores for cores_each, or no caches to bind to.
std::vector<Binding> bind_ranks(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                std::uint32_t before = 0, std::string_view host = "this node");

/// The cores that a rank file gives a rank: read_core_list()'s text, with cores and sockets by hwloc's
/// logical numbers. Throws Stop (usage) where one is not there.
Binding bind_as_listed(hwloc_topology_t topology, std::string_view core_list, job::Rank rank,
                       std::string_view host);

}  // namespace weft::placement
