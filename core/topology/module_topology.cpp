// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/topology/module.hpp"

namespace weft::topology::module {
namespace {

hwloc_topology_t as_topology(const void* topology) noexcept {
  return static_cast<hwloc_topology_t>(const_cast<void*>(topology));
}

struct TopologyDestroy {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDestroy>;

struct Kind {
  const char* token;
  hwloc_obj_type_t type;
};
// The kinds that locality.cpp parses.
constexpr Kind kinds[] = {
    {"NM", HWLOC_OBJ_NUMANODE}, {"SK", HWLOC_OBJ_PACKAGE}, {"L3", HWLOC_OBJ_L3CACHE},
    {"L2", HWLOC_OBJ_L2CACHE},  {"L1", HWLOC_OBJ_L1CACHE}, {"CR", HWLOC_OBJ_CORE},
    {"HT", HWLOC_OBJ_PU},
};

// The logical numbers of the objects of one type that the cpuset intersects.
Result<Bitmap> touched(hwloc_topology_t topology, hwloc_obj_type_t type, hwloc_const_cpuset_t cpuset) {
  auto numbers = new_bitmap();
  if (!numbers) return numbers;
  for (hwloc_obj_t o = nullptr; (o = hwloc_get_next_obj_by_type(topology, type, o)) != nullptr;) {
    if (hwloc_bitmap_intersects(o->cpuset, cpuset) == 0) continue;
    if (hwloc_bitmap_set(numbers->get(), o->logical_index) != 0) return fail(Errc::no_memory);
  }
  return numbers;
}

}  // namespace

Result<void*> load_topology(const char* xml, Origin origin) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Errc::os, "hwloc_topology_init", errno);
  Topology topology(raw);
  // Keeps network cards, GPUs and other devices, for the distances to them.
  if (hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) != 0) {
    return fail(Errc::os, "hwloc_topology_set_io_types_filter", errno);
  }
  if (xml != nullptr) {
    const std::size_t size = std::strlen(xml) + 1;
    if (size > INT32_MAX || hwloc_topology_set_xmlbuffer(raw, xml, static_cast<int>(size)) != 0) {
      return fail(Errc::invalid, "not the XML of a topology", errno);
    }
    if (origin == Origin::this_node) hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM);
  }
  if (hwloc_topology_load(raw) != 0) {
    return fail(xml != nullptr ? Errc::invalid : Errc::os, "hwloc_topology_load", errno);
  }
  return static_cast<void*>(topology.release());
}

Result<void*> load_processors() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Errc::os, "hwloc_topology_init", errno);
  Topology topology(raw);
  // Excluded, because the x86 component of hwloc moves the process to each processor in turn.
  if (hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") != 0 ||
      hwloc_topology_load(raw) != 0)
    return fail(Errc::os, "hwloc_topology_load", errno);
  return static_cast<void*>(topology.release());
}

Result<void*> copy_topology(const void* topology) {
  hwloc_topology_t copy = nullptr;
  if (hwloc_topology_dup(&copy, as_topology(topology)) != 0)
    return fail(Errc::os, "hwloc_topology_dup", errno);
  return static_cast<void*>(copy);
}

Result<std::string> export_topology(const void* topology) {
  char* text = nullptr;
  int size = 0;
  if (hwloc_topology_export_xmlbuffer(as_topology(topology), &text, &size, 0) != 0) {
    return fail(Errc::os, "hwloc_topology_export_xmlbuffer", errno);
  }
  std::string out(text);
  hwloc_free_xmlbuffer(as_topology(topology), text);
  return out;
}

std::string describe_topology(const void* topology) {
  const auto raw = as_topology(topology);
  const char* const host = hwloc_obj_get_info_by_name(hwloc_get_root_obj(raw), "HostName");
  std::string out = host != nullptr ? host : "a machine without a name";
  constexpr std::pair<hwloc_obj_type_t, const char*> counted[] = {{HWLOC_OBJ_PACKAGE, "package"},
                                                                  {HWLOC_OBJ_NUMANODE, "NUMA node"},
                                                                  {HWLOC_OBJ_CORE, "core"},
                                                                  {HWLOC_OBJ_PU, "hardware thread"}};
  const char* separator = ": ";
  for (const auto& [type, name] : counted) {
    const int count = hwloc_get_nbobjs_by_type(raw, type);
    if (count <= 0) continue;
    out += separator + std::to_string(count) + ' ' + name + (count == 1 ? "" : "s");
    separator = ", ";
  }
  return out;
}

void destroy_topology(void* topology) noexcept {
  hwloc_topology_destroy(as_topology(topology));
}

Result<std::string> locality(const void* topology, const void* cpuset) {
  const auto wanted = static_cast<hwloc_const_cpuset_t>(cpuset);
  std::string out;
  for (const auto& kind : kinds) {
    const auto numbers = touched(as_topology(topology), kind.type, wanted);
    if (!numbers) return fail(numbers.error());
    if (hwloc_bitmap_iszero(numbers->get()) != 0) continue;
    const auto list = list_of(numbers->get());
    if (!list) return fail(list.error());
    if (!out.empty()) out += ':';
    out += kind.token;
    out += *list;
  }
  if (out.empty()) return fail(Errc::invalid, "the cpuset has no processor of this node");
  return out;
}

}  // namespace weft::topology::module
