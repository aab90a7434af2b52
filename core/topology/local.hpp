// SPDX-License-Identifier: BSD-3-Clause
// The topology of this node: one for the whole process, as its pointer is handed to callers.
#pragma once

#include <functional>
#include <string>

#include "core/topology/loader.hpp"

namespace weft::topology {

/// Where to get the node's topology as XML when it is first needed, e.g. from the server's job information;
/// an empty answer means: discover it. Without effect once the topology is loaded.
void set_local_xml_source(std::function<std::string()> source);

/// hwloc_topology_t of this node, loaded by the first call, never destroyed: programs keep the pointer beyond
/// PMIx_Finalize. Errors: not_supported (no module), os, invalid (no XML and no discovery).
Result<void*> local_topology();

/// The same, or one without devices where nobody has loaded it yet: for localities, and never handed out.
Result<const void*> local_processors();

/// Was `topology` returned by local_topology()? Then nobody may destroy it.
bool is_local(const void* topology) noexcept;

}  // namespace weft::topology
