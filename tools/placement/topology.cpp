// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::placement {

using messages::Stop;
namespace exit_status = messages::exit_status;

void leave_out_plugins() {
  ::setenv("HWLOC_PLUGINS_PATH", "/dev/null", 0);
}

Topology load_topology() {
  leave_out_plugins();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Stop(exit_status::own_failure, messages::no_topology());
  Topology topology(raw);
  // The x86 component moves the process to each processor in turn, milliseconds on a busy machine, to learn
  // about caches; the operating system's files say all that is asked here.
  hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  if (hwloc_topology_load(raw) != 0) throw Stop(exit_status::own_failure, messages::no_topology());
  // hwloc has left out what the cgroup forbids, but not what taskset took away.
  hwloc_bitmap_t mine = hwloc_bitmap_alloc();
  if (hwloc_get_cpubind(raw, mine, HWLOC_CPUBIND_PROCESS) == 0) {
    hwloc_topology_restrict(raw, mine, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS);
  }
  hwloc_bitmap_free(mine);
  return topology;
}

Topology described_topology(const std::string& description) {
  const auto stop = [&] {
    return Stop(
        exit_status::usage,
        messages::usage(fmt::format("WEFT_TOPOLOGY '{}' describes no machine; it is a file of lstopo's "
                                    "(machine.xml) or a synthetic description ('pack:2 [numa] core:4 pu:2')",
                                    description)));
  };
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw stop();
  Topology topology(raw);
  const bool is_file = description.size() > 4 && description.compare(description.size() - 4, 4, ".xml") == 0;
  const int set = is_file ? hwloc_topology_set_xml(raw, description.c_str())
                          : hwloc_topology_set_synthetic(raw, description.c_str());
  if (set != 0 || hwloc_topology_load(raw) != 0) throw stop();
  return topology;
}

Processors processors_in(hwloc_topology_t topology) {
  const auto count = [topology](hwloc_obj_type_t type) {
    return static_cast<std::uint32_t>(objects(topology, type).size());
  };
  const auto threads = count(HWLOC_OBJ_PU), cores = count(HWLOC_OBJ_CORE);
  return {threads, cores != 0 ? cores : threads, std::max(1U, count(HWLOC_OBJ_NUMANODE))};
}

void keep_only(hwloc_topology_t topology, const std::vector<unsigned>& processors, std::string_view host) {
  const hwloc_const_bitmap_t there = hwloc_topology_get_allowed_cpuset(topology);
  std::vector<unsigned> missing;
  hwloc_bitmap_t kept = hwloc_bitmap_alloc();
  for (const unsigned processor : processors) {
    hwloc_bitmap_set(kept, processor);
    if (hwloc_bitmap_isset(there, processor) == 0) missing.push_back(processor);
  }
  std::vector<unsigned> usable;
  for (int cpu = hwloc_bitmap_first(there); cpu >= 0; cpu = hwloc_bitmap_next(there, cpu))
    usable.push_back(static_cast<unsigned>(cpu));
  if (missing.empty()) hwloc_topology_restrict(topology, kept, HWLOC_RESTRICT_FLAG_REMOVE_CPULESS);
  hwloc_bitmap_free(kept);
  if (!missing.empty()) throw Stop(exit_status::usage, messages::processors_not_there(missing, usable, host));
}

std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t at = hwloc_get_next_obj_by_type(topology, type, nullptr); at != nullptr;
       at = hwloc_get_next_obj_by_type(topology, type, at)) {
    if (at->cpuset != nullptr && hwloc_bitmap_iszero(at->cpuset) == 0) found.push_back(at);
  }
  return found;
}

}  // namespace weft::placement
