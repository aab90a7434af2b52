// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/slots.hpp"

#include "tools/placement/topology.hpp"

namespace weft::placement {
namespace {

hwloc_obj_t holder_of(hwloc_obj_t unit, const std::vector<hwloc_obj_t>& holders) {
  // Where several nodes hold a core (memory on the package and beside it) the first is the usual memory.
  const auto holds = [unit](hwloc_obj_t holder) {
    return hwloc_bitmap_isincluded(unit->cpuset, holder->cpuset) != 0;
  };
  const auto at = std::find_if(holders.begin(), holders.end(), holds);
  return at == holders.end() ? nullptr : *at;
}

}  // namespace

std::vector<Slot> slots_of(hwloc_topology_t topology, bool threads) {
  const auto nodes = objects(topology, HWLOC_OBJ_NUMANODE), sockets = objects(topology, HWLOC_OBJ_PACKAGE);
  const auto l2 = objects(topology, HWLOC_OBJ_L2CACHE), l3 = objects(topology, HWLOC_OBJ_L3CACHE);
  auto cores = objects(topology, HWLOC_OBJ_CORE);
  if (cores.empty()) cores = objects(topology, HWLOC_OBJ_PU);
  std::vector<Slot> slots;
  for (const hwloc_obj_t unit : threads ? objects(topology, HWLOC_OBJ_PU) : cores) {
    const hwloc_obj_t core = threads ? holder_of(unit, cores) : unit;
    slots.push_back({unit, core, holder_of(unit, l2), holder_of(unit, l3), holder_of(unit, nodes),
                     holder_of(unit, sockets)});
  }
  return slots;
}

Holder holder_for(job::MapBy map) noexcept {
  switch (map) {
    case job::MapBy::l2cache:
      return &Slot::l2;
    case job::MapBy::l3cache:
      return &Slot::l3;
    case job::MapBy::numa:
      return &Slot::node;
    case job::MapBy::socket:
      return &Slot::socket;
    case job::MapBy::core:
    case job::MapBy::automatic:
    case job::MapBy::slot:
    case job::MapBy::node:
      break;
  }
  return nullptr;
}

std::vector<std::vector<Slot>> groups_of(const std::vector<Slot>& slots, Holder holder) {
  if (holder == nullptr) return {slots};
  std::vector<std::vector<Slot>> groups;
  for (const Slot& slot : slots) {
    const auto same = [&](const std::vector<Slot>& group) { return group.front().*holder == slot.*holder; };
    const auto at = std::find_if(groups.begin(), groups.end(), same);
    at == groups.end() ? groups.push_back({slot}) : at->push_back(slot);
  }
  return groups;
}

}  // namespace weft::placement
