// SPDX-License-Identifier: BSD-3-Clause
// Where on its node a rank runs: the policy that follows from the options and the number of ranks, and the
// processors of each rank under that policy. Both are pure functions.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/job/app.hpp"
#include "tools/placement/processors.hpp"

namespace weft::placement {

/// Why ranks are bound as they are.
enum class Reason { asked, equal_parts, one_rank, slots_left, more_than_cores };

/// `bind` is never `automatic`.
struct Policy {
  job::BindTo bind = job::BindTo::none;
  job::MapBy map = job::MapBy::slot;
  bool oversubscribed = false;  ///< more ranks than cores
  std::uint32_t parts = 0;  ///< so many ranks have the cores in equal parts; 0: each is bound as `bind` says
  Reason reason = Reason::asked;
};

/// Ranks of a machine, virtual nodes taken together, and the slots that it has for this job.
struct Share {
  std::uint32_t ranks = 0;
  std::uint32_t slots = 0;
};

/// Ranks that fill the slots of their machine have its cores in equal parts. Others are not bound: a rank may have threads, and
/// another run may be beside this one, which would be given the same cores. Nor is a single rank, for which the
/// part is the whole, nor ranks that outnumber the cores.
Policy choose_policy(const Share& share, const Processors& processors, job::BindTo bind,
                     job::MapBy map) noexcept;

/// For the user, as in "not bound: 1 rank for 8 slots".
std::string words_for(const Policy& policy, const Share& share, std::uint32_t cores);

struct Binding {
  std::vector<unsigned> processors;  ///< the operating system's numbers, ascending; empty: not bound
  std::string label;                 ///< "core 3", "cores 4-7", "NUMA node 1"
};

struct TopologyCloser {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyCloser>;

/// From here on hwloc opens none of its plugins in this process, also for the PMIx server in it, unless the user has named a folder of them: they
/// find devices (PCI, GPUs), and to open them takes longer than all that is asked of hwloc here. Sets a variable of the environment: call it while
/// the process has one thread.
void leave_out_plugins();

/// The machine as far as this process may use it (cgroup and affinity mask). Takes milliseconds. Throws Stop.
/// Call while the process has one thread.
Topology load_topology();

/// Another machine, for tests and --explain: a file of lstopo's that ends in .xml, or a text such as
/// "pack:2 [numa] core:4 pu:2" (hwloc's synthetic topologies). Throws Stop (usage).
Topology described_topology(const std::string& description);

/// Counts in a topology what count_processors() counts in this machine.
Processors processors_in(hwloc_topology_t topology);

/// One binding for each rank of a node, in the order of local ranks. If there are more ranks than cores
/// (hardware threads, if ranks are bound to those), the cores are used again from the first.
///   before  number of ranks of other virtual nodes on this machine, which have the first cores
std::vector<Binding> bind_ranks(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                std::uint32_t before = 0);

}  // namespace weft::placement
