// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/topology/topology.hpp"

namespace weft::topology {

/// Spreads the pages of a mapping over NUMA nodes (OS numbers), page by page, before they are first touched.
/// Does nothing, and does not load the module, on a machine with one node. Errors: those of
/// Module::interleave. Callers may go on without: only the speed differs.
Result<void> interleave_memory(void* address, std::size_t length_bytes, std::span<const unsigned> nodes);

/// NUMA nodes (OS numbers) that hold a core this process may run on; empty where the kernel does not say.
std::vector<unsigned> usable_numa_nodes();

/// Reads the kernel's list; true also where it cannot be read.
bool has_one_numa_node() noexcept;

}  // namespace weft::topology
