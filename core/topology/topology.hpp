// SPDX-License-Identifier: BSD-3-Clause
// The interface between libpmix and weft/topology.so, the only module that is linked to hwloc and libnuma.
//
// Topologies are hwloc_topology_t and cpusets are hwloc_bitmap_t of OS processor numbers, both as void*:
// libpmix carries them for callers that link hwloc themselves. Any thread may call any function; a topology
// is read-only once it is loaded. The caller owns what a function returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::topology {

/// The name of the implementation in pmix_topology_t, pmix_cpuset_t and in front of cpuset and locality
/// strings.
inline constexpr char source_name[] = "hwloc";

/// True if `source` is that name, in any case, alone or followed by ':' and a version.
bool is_our_source(std::string_view source) noexcept;

/// The part of a cpuset or locality string after the name of the source; all of it if no source is named.
/// Error: not_supported (another source).
Result<std::string_view> without_source(std::string_view text);

/// Whether the topology in an XML text is that of this node: then callers may bind with it.
enum class Origin : std::uint8_t { this_node, elsewhere };

struct Device {
  std::string uuid;     ///< unique in the cluster
  std::string os_name;  ///< unique on the node
  pmix_device_type_t type = PMIX_DEVTYPE_UNKNOWN;
  std::uint16_t nearest = UINT16_MAX;  ///< steps in the topology tree to the nearest processor ...
  /// ... and to the farthest processor of the cpuset; UINT16_MAX: unknown
  std::uint16_t farthest = UINT16_MAX;
};

inline constexpr std::uint32_t module_version = 3;  ///< to be raised with every change of Module
inline constexpr char module_symbol[] = "weft_topology_module";

struct Module {
  std::uint32_t version;

  /// xml: NULL discovers this machine (milliseconds and more), otherwise a text from export_topology().
  /// Errors: invalid (malformed XML), os.
  Result<void*> (*load_topology)(const char* xml, Origin origin);
  /// This machine without its devices, from the files of the operating system: enough for locality(), and
  /// faster (docs/decisions/0005-start-up.md). Error: os.
  Result<void*> (*load_processors)();
  Result<void*> (*copy_topology)(const void* topology);
  Result<std::string> (*export_topology)(const void* topology);
  /// "HOST: 1 package, 2 NUMA nodes, 16 cores, 32 hardware threads"; kinds that are not known are left out.
  std::string (*describe_topology)(const void* topology);
  void (*destroy_topology)(void* topology) noexcept;

  /// list: "0-3,8"; "": no processor. Errors: invalid (malformed, or a number above max_processor).
  Result<void*> (*parse_cpuset)(std::string_view list);
  Result<std::string> (*format_cpuset)(const void* cpuset);
  Result<void*> (*copy_cpuset)(const void* cpuset);
  bool (*equal_cpusets)(const void* first, const void* second) noexcept;
  void (*destroy_cpuset)(void* cpuset) noexcept;

  /// The processors where the calling thread may run, or the union over all threads of this process. Error:
  /// os.
  Result<void*> (*current_cpuset)(bool of_whole_process);

  /// "NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-1": logical numbers of the NUMA nodes, packages, caches, cores and
  /// hardware threads that the cpuset intersects, without kinds that the node lacks. Error: invalid
  /// (intersects none).
  Result<std::string> (*locality)(const void* topology, const void* cpuset);

  /// All devices of the topology whose type PMIx defines.
  Result<std::vector<Device>> (*devices)(const void* topology, const void* cpuset);

  /// Sets the memory policy of pages that are not touched yet. address: the start of a page. Errors: invalid
  /// (no or unknown node, address), os (EPERM where a container forbids it), not_supported (a kernel without
  /// NUMA).
  Result<void> (*interleave)(void* address, std::size_t length_bytes, std::span<const unsigned> nodes);
  /// The OS numbers of the NUMA nodes of the cpuset's processors, ascending. Error: not_supported.
  Result<std::vector<unsigned>> (*numa_nodes)(const void* cpuset);
};

inline constexpr std::uint32_t max_processor =
    (1U << 20) - 1;  ///< largest number accepted in texts; limits the memory of a bitmap

/// The function that the module exports under module_symbol.
using ModuleEntry = const Module* (*)();

}  // namespace weft::topology
