// SPDX-License-Identifier: BSD-3-Clause
// Which rank runs where on its node: the policy (what the options and the number of ranks ask for) and the placement
// (which processors that means on this machine). Both are pure functions.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/job/app.hpp"
#include "tools/placement/processors.hpp"

namespace weft::placement {

/// Never `automatic`: that has been decided.
struct Policy {
  job::BindTo bind = job::BindTo::none;
  job::MapBy map = job::MapBy::slot;
  bool oversubscribed = false;  ///< more ranks than cores
};

/// Without options as mpirun 4 does it: up to two ranks are bound to cores, more to NUMA nodes, and none when
/// they outnumber the cores. Binding to the only NUMA node binds to nothing and is left out.
///   ranks  on this machine: of virtual nodes those of all of them
Policy choose_policy(std::uint32_t ranks, const Processors& processors, job::BindTo bind,
                     job::MapBy map) noexcept;

struct Place {
  std::vector<unsigned> processors;  ///< the operating system's numbers, ascending; empty: not bound
  std::string label;                 ///< "core 3", "NUMA node 1"
};

struct TopologyCloser {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyCloser>;

/// The machine as far as this process may use it (cgroup and affinity mask). Takes milliseconds. Throws Stop.
/// Call while the process has one thread.
Topology load_topology();

/// Another machine, for tests and --explain: a file of lstopo's that ends in .xml, or a text such as
/// "pack:2 [numa] core:4 pu:2" (hwloc's synthetic topologies). Throws Stop (usage).
Topology described_topology(const std::string& description);

/// What count_processors() says of this machine.
Processors processors_in(hwloc_topology_t topology);

/// One place for each rank of a node, in the order of their local ranks. Where there are more ranks than cores
/// (hardware threads, if they are bound to those) the cores are used again from the first.
///   before  so many ranks of others have the first places: virtual nodes share a machine
std::vector<Place> place_ranks(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                               std::uint32_t before = 0);

}  // namespace weft::placement
