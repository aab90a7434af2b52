// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/topology/topology.hpp"

namespace weft::topology {

/// Spreads the pages of a mapping over NUMA nodes (OS numbers), page by page, before the pages are first
/// touched. On a machine with one node it does nothing and does not load the module. Errors: those of
/// Module::interleave. A caller may ignore them: only the speed differs.
Result<void> interleave_memory(void* address, std::size_t length_bytes, std::span<const unsigned> nodes);

/// The NUMA nodes (OS numbers) with a core that this process may run on; empty if the kernel does not report
/// them.
std::vector<unsigned> usable_numa_nodes();

/// Reads the list of the kernel; true also if it cannot be read.
bool has_one_numa_node() noexcept;

}  // namespace weft::topology
