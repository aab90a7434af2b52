// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tools/node/messages.hpp"
#include "tools/node/stop.hpp"

namespace weft::node {
namespace {

/// A core and the NUMA node that it is nearest to.
struct Slot {
  hwloc_obj_t core;
  hwloc_obj_t node;
};

std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t at = hwloc_get_next_obj_by_type(topology, type, nullptr); at != nullptr;
       at = hwloc_get_next_obj_by_type(topology, type, at)) {
    if (at->cpuset != nullptr && hwloc_bitmap_iszero(at->cpuset) == 0) found.push_back(at);
  }
  return found;
}

/// Slots in the order of the cores. Machines that tell no cores (some virtual ones) have their threads as
/// cores.
std::vector<Slot> slots_by_core(hwloc_topology_t topology, const std::vector<hwloc_obj_t>& nodes) {
  auto cores = objects(topology, HWLOC_OBJ_CORE);
  if (cores.empty()) cores = objects(topology, HWLOC_OBJ_PU);
  std::vector<Slot> slots;
  for (const hwloc_obj_t core : cores) {
    // Of several nodes that hold a core (memory on the package and beside it) the first is the usual memory.
    const auto holds = [core](hwloc_obj_t n) {
      return hwloc_bitmap_isincluded(core->cpuset, n->cpuset) != 0;
    };
    const auto node = std::find_if(nodes.begin(), nodes.end(), holds);
    slots.push_back({core, node == nodes.end() ? nullptr : *node});
  }
  return slots;
}

/// One slot of each node in turn; within a node in the order of the cores.
std::vector<Slot> dealt_to_nodes(const std::vector<Slot>& slots, const std::vector<hwloc_obj_t>& nodes) {
  std::vector<std::vector<Slot>> hands;
  for (const hwloc_obj_t node : nodes) {
    std::vector<Slot> hand;
    std::copy_if(slots.begin(), slots.end(), std::back_inserter(hand),
                 [node](const Slot& s) { return s.node == node; });
    if (!hand.empty()) hands.push_back(std::move(hand));
  }
  if (hands.empty()) return slots;
  std::size_t largest = 0;
  for (const auto& hand : hands) largest = std::max(largest, hand.size());
  std::vector<Slot> dealt;
  // A smaller node drops out when its cores are dealt: no core is used twice while another is free.
  for (std::size_t round = 0; round < largest; ++round) {
    for (const auto& hand : hands) {
      if (round < hand.size()) dealt.push_back(hand[round]);
    }
  }
  return dealt;
}

Place place_on(hwloc_obj_t object, const char* kind) {
  Place place;
  place.label = fmt::format("{} {}", kind, object->logical_index);
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
    place.processors.push_back(static_cast<unsigned>(cpu));
  }
  return place;
}

/// hwloc's plugins find devices (PCI, GPUs). Loading them takes longer than all that is asked here.
class WithoutPlugins {
 public:
  WithoutPlugins() : was_set_(::getenv(name) != nullptr) { ::setenv(name, "/dev/null", 0); }
  ~WithoutPlugins() {
    if (!was_set_) ::unsetenv(name);
  }
  WithoutPlugins(const WithoutPlugins&) = delete;
  WithoutPlugins& operator=(const WithoutPlugins&) = delete;

 private:
  static constexpr const char* name = "HWLOC_PLUGINS_PATH";
  bool was_set_;
};

}  // namespace

Policy choose_policy(std::uint32_t ranks, const Processors& processors, BindTo bind, MapBy map) noexcept {
  Policy policy;
  policy.oversubscribed = ranks > processors.cores;
  const bool few = ranks <= 2;
  policy.bind = bind;
  if (bind == BindTo::automatic) {
    policy.bind = few ? BindTo::core : BindTo::numa;
    const bool means_nothing = policy.bind == BindTo::numa && processors.numa_nodes == 1;
    if (policy.oversubscribed || means_nothing) policy.bind = BindTo::none;
  }
  policy.map = map;
  if (map == MapBy::automatic) policy.map = policy.bind == BindTo::numa ? MapBy::numa : MapBy::slot;
  return policy;
}

Topology load_topology() {
  const WithoutPlugins no_devices;
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) throw Stop(exit_status::own_failure, messages::no_topology());
  Topology topology(raw);
  // The x86 component moves the process to each processor in turn, milliseconds on a busy machine, to learn about
  // caches; the operating system's files say all that is asked here.
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

std::vector<Place> place_ranks(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy) {
  std::vector<Place> places(ranks);
  if (policy.bind == BindTo::none) return places;
  const auto nodes = objects(topology, HWLOC_OBJ_NUMANODE);
  auto slots = slots_by_core(topology, nodes);
  if (slots.empty()) throw Stop(exit_status::own_failure, messages::no_topology());
  if (policy.map == MapBy::numa) slots = dealt_to_nodes(slots, nodes);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Slot& slot = slots[rank % slots.size()];
    const bool to_node = policy.bind == BindTo::numa && slot.node != nullptr;
    places[rank] = to_node ? place_on(slot.node, "NUMA node") : place_on(slot.core, "core");
  }
  return places;
}

}  // namespace weft::node
