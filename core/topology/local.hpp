// SPDX-License-Identifier: BSD-3-Clause
// The topology of this node. There is one in the process, because its pointer is handed to callers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/topology/loader.hpp"

namespace weft::topology {

/// Sets a function that returns the topology of the node as XML, for example from the server's job
/// information. The function is called when the topology is first needed; if it returns an empty text, the
/// topology is discovered instead. Without effect once the topology is loaded.
void set_local_xml_source(std::function<std::string()> source);

/// The hwloc_topology_t of this node. The first call loads it; it is never destroyed, because programs keep
/// the pointer beyond PMIx_Finalize. Errors: not_supported (no module), os, invalid (no XML, and discovery
/// failed).
Result<void*> local_topology();

/// The topology of this node, or one without devices if none is loaded yet: for localities, and never handed
/// out.
Result<const void*> local_processors();

/// The locality string, with the name of its source, of the processors of a PMIX_CPUSET string of this node.
/// Errors: not_supported (no module, another source), invalid (malformed, no processor of this node), os.
Result<std::string> locality_of(std::string_view cpuset);

/// The locality string, with the name of its source, of all processors where the calling thread may run.
/// Errors: not_supported (no module), os.
Result<std::string> own_locality();

/// True if `topology` was returned by local_topology(); such a topology must not be destroyed.
bool is_local(const void* topology) noexcept;

}  // namespace weft::topology
