// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/mapping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "tools/job/ranges.hpp"
#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/processor_lists.hpp"
#include "tools/placement/slots.hpp"

namespace weft::placement {
namespace {

using messages::Stop;
namespace exit_status = messages::exit_status;

std::vector<Slot> in_order(hwloc_topology_t topology, const Policy& policy) {
  const bool threads = policy.bind == job::BindTo::hwthread;
  auto slots = slots_of(topology, threads);
  // With threads: the first of each core before the second of any.
  const auto holder = threads && policy.map == job::MapBy::core ? &Slot::core : holder_for(policy.map);
  return holder == nullptr ? slots : round_robin(groups_of(slots, holder));
}

Binding binding_to(hwloc_obj_t object, const char* kind) {
  Binding binding;
  binding.label = fmt::format("{} {}", kind, object->logical_index);
  for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0; cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
    binding.processors.push_back(static_cast<unsigned>(cpu));
  }
  return binding;
}

/// The binding to these cores, or hardware threads.
Binding binding_to(std::span<const Slot> units, const char* kind) {
  if (units.size() == 1) return binding_to(units.front().unit, kind);
  Binding binding;
  std::set<unsigned> numbers, processors;
  for (const Slot& slot : units) {
    numbers.insert(slot.unit->logical_index);
    for (const unsigned processor : binding_to(slot.unit, kind).processors) processors.insert(processor);
  }
  binding.processors.assign(processors.begin(), processors.end());
  binding.label = fmt::format("{}s {}", kind, job::ranges(numbers));
  return binding;
}

/// Each of policy.parts ranks has a part of the cores, the ranks from `before` on are asked for.
std::vector<Binding> equal_parts(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                 std::uint32_t before) {
  const auto groups = groups_of(slots_of(topology, false), holder_for(policy.map));
  if (groups.empty() || groups.front().empty()) throw Stop(exit_status::own_failure, messages::no_topology());
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
    bindings.push_back(binding_to(std::span(cores).subspan(first, last - first), "core"));
  }
  return bindings;
}

[[noreturn]] void refuse(const std::string& what) {
  throw Stop(exit_status::usage, messages::usage(what));
}

using Bundles = std::vector<std::vector<Slot>>;

/// The slots of each group, so many in each bundle; what is left of a group is not used.
std::vector<Bundles> bundles_of(const std::vector<std::vector<Slot>>& groups, std::uint32_t each) {
  std::vector<Bundles> all;
  for (const auto& group : groups) {
    auto& bundles = all.emplace_back();
    for (std::size_t at = 0; group.size() - at >= each; at += each)
      bundles.emplace_back(group.begin() + static_cast<std::ptrdiff_t>(at),
                           group.begin() + static_cast<std::ptrdiff_t>(at + each));
  }
  return all;
}

/// A bundle for each rank, in the order of ranks. Ranks that are dealt to nothing get theirs of one NUMA node
/// or of one socket each, if that leaves room for all.
Bundles bundles_for(const std::vector<Slot>& slots, std::uint64_t ranks, const Policy& policy) {
  if (const auto holder = holder_for(policy.map); holder != nullptr)
    return round_robin(bundles_of(groups_of(slots, holder), policy.cores_each));
  Bundles bundles;
  for (const Holder holder : {&Slot::node, &Slot::socket, Holder{}}) {
    bundles.clear();
    for (auto& part : bundles_of(groups_of(slots, holder), policy.cores_each))
      std::move(part.begin(), part.end(), std::back_inserter(bundles));
    if (bundles.size() >= ranks) break;
  }
  return bundles;
}

[[noreturn]] void refuse_bundles(std::uint64_t ranks, std::size_t room, std::size_t units,
                                 const Policy& policy, std::string_view host) {
  const bool is_dealt = holder_for(policy.map) != nullptr;
  const auto wish =
      fmt::format("{} rank{} of {} {}{}{} to run on '{}'", ranks, ranks == 1 ? "" : "s", policy.cores_each,
                  unit_of(policy), policy.cores_each == 1 ? "" : "s", ranks == 1 ? " is" : " each are", host);
  refuse(fmt::format("{}, which has {}{}: room for {}; ask for fewer ranks or fewer {}s each{}{}", wish,
                     units, is_dealt ? fmt::format(", dealt by {}", name_of(policy.map)) : "", room,
                     unit_of(policy), is_dealt ? ", map by slot" : "",
                     room == 0 ? "" : ", or let them share with --oversubscribe"));
}

std::vector<Binding> bind_bundles(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                  std::uint32_t before, std::string_view host) {
  const auto slots = slots_of(topology, policy.bind == job::BindTo::hwthread);
  const auto all_ranks = std::uint64_t{before} + ranks;
  const auto bundles = bundles_for(slots, all_ranks, policy);
  if (bundles.empty() || (bundles.size() < all_ranks && !policy.may_share_cores))
    refuse_bundles(all_ranks, bundles.size(), slots.size(), policy, host);
  std::vector<Binding> bindings;
  for (std::uint64_t rank = before; rank < all_ranks; ++rank)
    bindings.push_back(binding_to(bundles[rank % bundles.size()], unit_of(policy)));
  return bindings;
}

/// The object that a rank at this slot is bound to; null: the slot's own core or thread.
struct Place {
  hwloc_obj_t object;
  const char* kind;
};
Place place_of(const Slot& slot, job::BindTo bind) noexcept {
  switch (bind) {
    case job::BindTo::l2cache:
      return {slot.l2, "L2 cache"};
    case job::BindTo::l3cache:
      return {slot.l3, "L3 cache"};
    case job::BindTo::numa:
      return {slot.node, "NUMA node"};
    case job::BindTo::socket:
      return {slot.socket, "socket"};
    case job::BindTo::hwthread:
      return {slot.unit, "hwthread"};
    case job::BindTo::automatic:
    case job::BindTo::none:
    case job::BindTo::core:
      break;
  }
  return {slot.unit, "core"};
}

/// Virtual machines often hide their caches; to bind to cores in their place would be something else than
/// what is asked for.
void check_caches(const std::vector<Slot>& slots, const Policy& policy, std::string_view host) {
  const auto is_lacking = [&](bool is_asked_for, Holder cache) {
    return is_asked_for &&
           std::all_of(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.*cache == nullptr; });
  };
  for (const auto& [level, bind, map, cache] :
       {std::tuple(2, job::BindTo::l2cache, job::MapBy::l2cache, &Slot::l2),
        std::tuple(3, job::BindTo::l3cache, job::MapBy::l3cache, &Slot::l3)}) {
    if (is_lacking(policy.bind == bind || policy.map == map, cache))
      refuse(fmt::format("'{}' tells of no L{} caches; use numa, socket or core in the place of l{}cache",
                         host, level, level));
  }
}

/// Core `number` of these, for the line of a rank that is to have it.
const Slot& core_at(const std::vector<Slot>& cores, std::uint32_t number, const CoreRange& range,
                    job::Rank rank, std::string_view host) {
  if (number < cores.size()) return cores[number];
  const auto of = range.socket ? fmt::format("socket {} of ", *range.socket) : std::string();
  refuse(
      fmt::format("--rankfile: rank {} is to have core {} of {}'{}', which has {} that weftrun may use: {}",
                  job::number(rank), number, of, host, cores.size(),
                  cores.empty() ? "none" : fmt::format("0-{}", cores.size() - 1)));
}

}  // namespace

std::vector<Binding> bind_ranks(hwloc_topology_t topology, std::uint32_t ranks, const Policy& policy,
                                std::uint32_t before, std::string_view host) {
  std::vector<Binding> bindings(ranks);
  if (policy.bind == job::BindTo::none || ranks == 0) return bindings;
  const auto slots = in_order(topology, policy);
  if (slots.empty()) throw Stop(exit_status::own_failure, messages::no_topology());
  check_caches(slots, policy, host);
  if (policy.parts != 0) return equal_parts(topology, ranks, policy, before);
  if (policy.cores_each != 0) return bind_bundles(topology, ranks, policy, before, host);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const Slot& slot = slots[(std::uint64_t{before} + rank) % slots.size()];
    const Place place = place_of(slot, policy.bind);
    bindings[rank] =
        place.object != nullptr ? binding_to(place.object, place.kind) : binding_to(slot.unit, "core");
  }
  return bindings;
}

Binding bind_as_listed(hwloc_topology_t topology, std::string_view core_list, job::Rank rank,
                       std::string_view host) {
  std::string complaint;
  const auto ranges = read_core_list(core_list, complaint);
  if (!ranges) refuse(fmt::format("--rankfile: rank {}: {}", job::number(rank), complaint));
  const auto all = slots_of(topology, false);
  const auto sockets = groups_of(all, &Slot::socket);
  std::vector<Slot> chosen;
  for (const CoreRange& range : *ranges) {
    if (range.socket && *range.socket >= sockets.size())
      refuse(fmt::format("--rankfile: rank {} is to have cores of socket {} of '{}', which has {}",
                         job::number(rank), *range.socket, host, sockets.size()));
    const auto& cores = range.socket ? sockets[*range.socket] : all;
    const auto last =
        range.last == CoreRange::all ? static_cast<std::uint32_t>(cores.size()) - 1 : range.last;
    for (std::uint32_t number = range.first; number <= last; ++number)
      chosen.push_back(core_at(cores, number, range, rank, host));
  }
  return binding_to(chosen, "core");
}

}  // namespace weft::placement
