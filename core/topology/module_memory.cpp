// SPDX-License-Identifier: BSD-3-Clause
#include <numa.h>
#include <numaif.h>

#include <algorithm>
#include <cerrno>

#include "core/topology/module.hpp"

namespace weft::topology::module {
namespace {

struct MaskFree {
  void operator()(bitmask* mask) const noexcept { numa_bitmask_free(mask); }
};

}  // namespace

Result<void> interleave(void* address, std::size_t length_bytes, std::span<const unsigned> nodes) {
  if (numa_available() < 0) return fail(Errc::not_supported, "a kernel without NUMA");
  if (nodes.empty()) return fail(Errc::invalid, "no NUMA node to interleave over");
  const std::unique_ptr<bitmask, MaskFree> mask(numa_allocate_nodemask());
  if (mask == nullptr) return fail(Errc::no_memory);
  for (const unsigned node : nodes) {
    if (node > static_cast<unsigned>(numa_max_node()) ||
        numa_bitmask_isbitset(numa_all_nodes_ptr, node) == 0) {
      return fail(Errc::invalid, "no such NUMA node, or not ours to use");
    }
    numa_bitmask_setbit(mask.get(), node);
  }
  // numa_interleave_memory() of libnuma cannot report an error. The kernel ignores the last bit of the given
  // length.
  if (::mbind(address, length_bytes, MPOL_INTERLEAVE, mask->maskp, mask->size + 1, 0) == 0) return {};
  const int error = errno;
  return fail(error == EINVAL ? Errc::invalid : Errc::os, "mbind", error);
}

Result<std::vector<unsigned>> numa_nodes(const void* cpuset) {
  if (numa_available() < 0) return fail(Errc::not_supported, "a kernel without NUMA");
  const auto processors = static_cast<hwloc_const_bitmap_t>(cpuset);
  std::vector<unsigned> nodes;
  for (unsigned node = 0; node <= static_cast<unsigned>(numa_max_node()); ++node) {
    const std::unique_ptr<bitmask, MaskFree> cpus(numa_allocate_cpumask());
    if (cpus == nullptr) return fail(Errc::no_memory);
    if (numa_node_to_cpus(static_cast<int>(node), cpus.get()) != 0) continue;
    for (unsigned i = 0; i < cpus->size; ++i) {
      if (numa_bitmask_isbitset(cpus.get(), i) == 0 || hwloc_bitmap_isset(processors, i) == 0) continue;
      nodes.push_back(node);
      break;
    }
  }
  return nodes;
}

}  // namespace weft::topology::module
