// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::placement {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

/// What a rank can be bound to: a core or a hardware thread, and what it belongs to. Null: not known.
struct Slot {
  hwloc_obj_t unit;
  hwloc_obj_t core;
  hwloc_obj_t node;  // the nearest memory
  hwloc_obj_t socket;
};

std::vector<hwloc_obj_t> objects(hwloc_topology_t topology, hwloc_obj_type_t type) {
  std::vector<hwloc_obj_t> found;
  for (hwloc_obj_t at = hwloc_get_next_obj_by_type(topology, type, nullptr); at != nullptr;
       at = hwloc_get_next_obj_by_type(topology, type, at)) {
    if (at->cpuset != nullptr && hwloc_bitmap_iszero(at->cpuset) == 0) found.push_back(at);
  }
  return found;
}

hwloc_obj_t holder_of(hwloc_obj_t unit, const std::vector<hwloc_obj_t>& holders) {
  // Of several nodes that hold a core (memory on the package and beside it) the first is the usual memory.
  const auto holds = [unit](hwloc_obj_t holder) {
    return hwloc_bitmap_isincluded(unit->cpuset, holder->cpuset) != 0;
  };
  const auto at = std::find_if(holders.begin(), holders.end(), holds);
  return at == holders.end() ? nullptr : *at;
}

/// In the order of the cores, or of their threads. Where hwloc finds no cores (some virtual machines) threads
/// count as cores.
std::vector<Slot> slots_of(hwloc_topology_t topology, bool threads) {
  const auto nodes = objects(topology, HWLOC_OBJ_NUMANODE), sockets = objects(topology, HWLOC_OBJ_PACKAGE);
  auto cores = objects(topology, HWLOC_OBJ_CORE);
  if (cores.empty()) cores = objects(topology, HWLOC_OBJ_PU);
  std::vector<Slot> slots;
  for (const hwloc_obj_t unit : threads ? objects(topology, HWLOC_OBJ_PU) : cores) {
    const hwloc_obj_t core = threads ? holder_of(unit, cores) : unit;
    slots.push_back({unit, core, holder_of(unit, nodes), holder_of(unit, sockets)});
  }
  return slots;
}

/// One slot of each group in turn, the groups in the order in which they first appear; within a group in
/// their order.
std::vector<Slot> round_robin(const std::vector<Slot>& slots, hwloc_obj_t Slot::*group) {
  std::vector<hwloc_obj_t> groups;
  std::vector<std::vector<Slot>> queues;
  for (const Slot& slot : slots) {
    const auto at =
        static_cast<std::size_t>(std::find(groups.begin(), groups.end(), slot.*group) - groups.begin());
    if (at == groups.size()) {
      groups.push_back(slot.*group);
      queues.emplace_back();
    }
    queues[at].push_back(slot);
  }
  std::vector<Slot> in_turn;
  // A smaller group drops out when its slots are round_robin: none is used twice while another is free.
  for (std::size_t round = 0; in_turn.size() < slots.size(); ++round) {
    for (const auto& queue : queues) {
      if (round < queue.size()) in_turn.push_back(queue[round]);
    }
  }
  return in_turn;
}

std::vector<Slot> in_order(hwloc_topology_t topology, const Policy& policy) {
  const bool threads = policy.bind == job::BindTo::hwthread;
  auto slots = slots_of(topology, threads);
  switch (policy.map) {
    case job::MapBy::numa:
      return round_robin(slots, &Slot::node);
    case job::MapBy::socket:
      return round_robin(slots, &Slot::socket);
    case job::MapBy::core:  // with threads: the first of each core before the second of any
      return threads ? round_robin(slots, &Slot::core) : slots;
    case job::MapBy::automatic:
    case job::MapBy::slot:
    case job::MapBy::node:
      break;
  }
  return slots;
}

Binding binding_to(hwloc_obj_t object, const char* kind) {
  Binding binding;
  binding.label = fmt::format("{} {}", kind, object->logical_index);
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
    binding.processors.push_back(static_cast<unsigned>(cpu));
  }
  return binding;
}

/// The cores of [first, last), neighbours of each other.
Binding binding_to(const std::vector<Slot>& cores, std::size_t first, std::size_t last) {
  Binding binding = binding_to(cores[first].unit, "core");
  for (std::size_t i = first + 1; i < last; ++i)
    for (const unsigned processor : binding_to(cores[i].unit, "core").processors)
      binding.processors.push_back(processor);
  std::sort(binding.processors.begin(), binding.processors.end());
  if (last - first > 1)
    binding.label =
        fmt::format("cores {}-{}", cores[first].unit->logical_index, cores[last - 1].unit->logical_index);
  return binding;
}

/// The cores of each group that ranks are dealt to in turn: NUMA nodes, sockets, or one group of all.
std::vector<std::vector<Slot>> groups_of(hwloc_topology_t topology, job::MapBy map) {
  const auto cores = slots_of(topology, false);
  if (map != job::MapBy::numa && map != job::MapBy::socket) return {cores};
  const auto holder = map == job::MapBy::numa ? &Slot::node : &Slot::socket;
  std::vector<std::vector<Slot>> groups;
  for (const Slot& core : cores) {
    const auto same = [&](const std::vector<Slot>& group) { return group.front().*holder == core.*holder; };
    const auto at = std::find_if(groups.begin(), groups.end(), same);
    at == groups.end() ? groups.push_back({core}) : at->push_back(core);
  }
  return groups;
}

/// Each of policy.parts ranks has a part of the cores, the ranks from `before` on are asked for.
std::vector<Binding> equal_parts(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                 std::uint32_t before) {
  const auto groups = groups_of(topology, policy.map);
  if (groups.front().empty()) throw Stop(exit_status::own_failure, messages::no_topology());
  std::vector<Binding> bindings;
  for (std::size_t rank = before; rank < std::size_t{before} + ranks; ++rank) {
    const std::size_t group = rank % groups.size(), place = rank / groups.size();
    const auto& cores = groups[group];
    const std::size_t sharers =
        (std::max<std::size_t>(policy.parts, rank + 1) - group - 1) / groups.size() + 1;
    // A group that is smaller than the others may have more ranks than cores.
    const bool are_enough = sharers <= cores.size();
    const std::size_t first = are_enough ? place * cores.size() / sharers : place % cores.size();
    const std::size_t last = are_enough ? (place + 1) * cores.size() / sharers : first + 1;
    bindings.push_back(binding_to(cores, first, last));
  }
  return bindings;
}

}  // namespace

Policy choose_policy(const Share& share, const Processors& processors, job::BindTo bind,
                     job::MapBy map) noexcept {
  Policy policy;
  policy.oversubscribed = share.ranks > processors.cores;
  policy.bind = bind;
  if (bind == job::BindTo::automatic) {
    policy.reason = policy.oversubscribed       ? Reason::more_than_cores
                    : share.ranks < share.slots ? Reason::slots_left
                    : share.ranks == 1          ? Reason::one_rank
                                                : Reason::equal_parts;
    const bool is_bound = policy.reason == Reason::equal_parts;
    policy.bind = is_bound ? job::BindTo::core : job::BindTo::none;
    policy.parts = is_bound ? share.ranks : 0;
  }
  policy.map = map;
  if (map != job::MapBy::automatic) return policy;
  policy.map = job::MapBy::slot;
  if (policy.bind == job::BindTo::numa) policy.map = job::MapBy::numa;
  if (policy.bind == job::BindTo::socket) policy.map = job::MapBy::socket;
  return policy;
}

std::string words_for(const Policy& policy, const Share& share, std::uint32_t cores) {
  const auto counted = [](std::uint32_t number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
  };
  const auto ranks = counted(share.ranks, "rank");
  switch (policy.reason) {
    case Reason::asked:
      return "as asked for";
    case Reason::equal_parts:
      return fmt::format("{} of {} fill the slots: equal parts", ranks, counted(cores, "core"));
    case Reason::one_rank:
      return "a single rank has all cores";
    case Reason::slots_left:
      return fmt::format("{} for {}: bound only where all are used", ranks, counted(share.slots, "slot"));
    case Reason::more_than_cores:
      return fmt::format("{} for {}", ranks, counted(cores, "core"));
  }
  return {};
}

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

std::vector<Binding> bind_ranks(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                std::uint32_t before) {
  std::vector<Binding> bindings(ranks);
  if (policy.bind == job::BindTo::none) return bindings;
  if (policy.parts != 0) return equal_parts(topology, ranks, policy, before);
  const auto slots = in_order(topology, policy);
  if (slots.empty()) throw Stop(exit_status::own_failure, messages::no_topology());
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Slot& slot = slots[(std::uint64_t{before} + rank) % slots.size()];
    if (policy.bind == job::BindTo::numa && slot.node != nullptr)
      bindings[rank] = binding_to(slot.node, "NUMA node");
    else if (policy.bind == job::BindTo::socket && slot.socket != nullptr)
      bindings[rank] = binding_to(slot.socket, "socket");
    else
      bindings[rank] = binding_to(slot.unit, policy.bind == job::BindTo::hwthread ? "hwthread" : "core");
  }
  return bindings;
}

}  // namespace weft::placement
