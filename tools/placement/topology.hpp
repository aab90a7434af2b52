// SPDX-License-Identifier: BSD-3-Clause
// A machine as hwloc sees it: this one as far as it may be used, or one that the user describes.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/placement/processors.hpp"

namespace weft::placement {

struct TopologyCloser {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyCloser>;

/// From here on hwloc opens none of its plugins in this process, also for the PMIx server in it, unless the
/// user has named a folder of them: they find devices (PCI, GPUs), and to open them takes longer than all
/// that is asked of hwloc here. Sets a variable of the environment: call it while the process has one thread.
void leave_out_plugins();

/// The machine as far as this process may use it (cgroup and affinity mask). Takes milliseconds. Throws Stop.
/// Call while the process has one thread.
Topology load_topology();

/// Another machine, for tests and --explain: a file of lstopo's that ends in .xml, or a text such as
/// "pack:2 [numa] core:4 pu:2" (hwloc's synthetic topologies). Throws Stop (usage).
Topology described_topology(const std::string& description);

/// Counts in a topology what count_processors() counts in this machine.
Processors processors_in(hwloc_topology_t topology);

/// Leaves only these processors (the operating system's numbers) in a topology. host: its node, for the line.
/// Throws Stop (usage) where one is not there.
void keep_only(hwloc_topology_t topology, const std::vector<unsigned>& processors, std::string_view host);

/// All of a kind that have processors, in their logical order.
std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type);

}  // namespace weft::placement
