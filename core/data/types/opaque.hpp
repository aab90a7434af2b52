// SPDX-License-Identifier: BSD-3-Clause
// The two types whose content belongs to another library: pmix_topology_t and pmix_cpuset_t.
//
// This folder must not know hwloc, so core/topology, which does, fills these in before the first such
// handle exists. Without them a NULL handle still copies and travels, any other is not_supported.
#pragma once

namespace weft::data {

/// source: the structure's own text ("hwloc:2.9.0"); handle: what its void* points to, never NULL.
struct OpaqueOps {
  char* (*to_text)(const char* source, const void* handle);    ///< from malloc; NULL: cannot
  void* (*from_text)(const char* source, const char* text);    ///< a new handle; NULL: not understood
  void* (*copy)(const char* source, const void* handle);       ///< a new handle; NULL: cannot
  void (*destroy)(const char* source, void* handle) noexcept;  ///< ends a handle
  bool (*equal)(const void* first, const void* second) noexcept;
  char* (*describe)(const char* source,
                    const void* handle);  ///< a line for people, from malloc; NULL: cannot
};

enum class Opaque { topology, cpuset };

/// `ops` must stay valid until the process ends. Thread-safe; the last caller wins.
void set_opaque_ops(Opaque kind, const OpaqueOps* ops) noexcept;
/// nullptr before set_opaque_ops().
const OpaqueOps* opaque_ops(Opaque kind) noexcept;

/// As long as this object lives its thread decodes every such handle as NULL: a description that another
/// user's process may have made is not given to the library that would parse it.
class OpaqueIgnored {
 public:
  OpaqueIgnored() noexcept;
  ~OpaqueIgnored();
  OpaqueIgnored(const OpaqueIgnored&) = delete;
  OpaqueIgnored& operator=(const OpaqueIgnored&) = delete;
  static bool is_on() noexcept;
};

}  // namespace weft::data
