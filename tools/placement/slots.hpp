// SPDX-License-Identifier: BSD-3-Clause
// What ranks are bound to and dealt to, as lists over a topology. Pure functions.
#pragma once

#include <hwloc.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "tools/job/mapping.hpp"

namespace weft::placement {

/// A place that a rank can be bound to: a core or a hardware thread, with the caches, memory and socket that
/// it belongs to. Null: not known.
struct Slot {
  hwloc_obj_t unit;
  hwloc_obj_t core;
  hwloc_obj_t l2, l3;
  hwloc_obj_t node;  // the nearest memory
  hwloc_obj_t socket;
};
using Holder = hwloc_obj_t Slot::*;

/// In the order of the cores, or of their threads. Where hwloc finds no cores (some virtual machines) threads
/// count as cores.
std::vector<Slot> slots_of(hwloc_topology_t topology, bool threads);

/// The object to which ranks that are mapped so are dealt; null: none, they take one core after the other.
Holder holder_for(job::MapBy map) noexcept;

/// The slots of each holder, the holders in the order in which they first appear; null: all slots are one
/// group.
std::vector<std::vector<Slot>> groups_of(const std::vector<Slot>& slots, Holder holder);

/// One of each group in turn; within a group in their order. A smaller group drops out when all of it is
/// dealt: none is used twice while another is free.
template <class Dealt>
std::vector<Dealt> round_robin(const std::vector<std::vector<Dealt>>& groups) {
  std::size_t longest = 0;
  for (const auto& group : groups) longest = std::max(longest, group.size());
  std::vector<Dealt> in_turn;
  for (std::size_t round = 0; round < longest; ++round)
    for (const auto& group : groups)
      if (round < group.size()) in_turn.push_back(group[round]);
  return in_turn;
}

}  // namespace weft::placement
