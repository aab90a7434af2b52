// SPDX-License-Identifier: BSD-3-Clause
// Only for code inside weft/topology.so: the functions behind the table. Their contracts are in topology.hpp.
#pragma once

#include <hwloc.h>

#include <memory>

#include "core/topology/topology.hpp"

namespace weft::topology::module {

struct BitmapFree {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, BitmapFree>;

/// Error: no_memory.
Result<Bitmap> new_bitmap();
/// "0-3,8". Error: no_memory.
Result<std::string> list_of(hwloc_const_bitmap_t bitmap);

// module_topology.cpp
Result<void*> load_topology(const char* xml, Origin origin);
Result<void*> load_processors();
Result<void*> copy_topology(const void* topology);
Result<std::string> export_topology(const void* topology);
std::string describe_topology(const void* topology);
void destroy_topology(void* topology) noexcept;
Result<std::string> locality(const void* topology, const void* cpuset);

// module_cpuset.cpp
Result<void*> parse_cpuset(std::string_view list);
Result<std::string> format_cpuset(const void* cpuset);
Result<void*> copy_cpuset(const void* cpuset);
bool equal_cpusets(const void* first, const void* second) noexcept;
void destroy_cpuset(void* cpuset) noexcept;
Result<void*> current_cpuset(bool of_whole_process);

// module_devices.cpp
Result<std::vector<Device>> devices(const void* topology, const void* cpuset);

// module_memory.cpp
Result<void> interleave(void* address, std::size_t length_bytes, std::span<const unsigned> nodes);
Result<std::vector<unsigned>> numa_nodes(const void* cpuset);

}  // namespace weft::topology::module
