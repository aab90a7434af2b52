// SPDX-License-Identifier: BSD-3-Clause
// Processors counted without loading a topology: hwloc takes milliseconds, in which a job of trivial ranks
// ends.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace weft::placement {

struct Processors {
  std::uint32_t threads = 1;     ///< hardware threads that weftrun may use (affinity mask and cgroup)
  std::uint32_t cores = 1;       ///< cores that these threads belong to: the slots of this node
  std::uint32_t numa_nodes = 1;  ///< of the machine; an upper bound of what weftrun may use
};

/// Cost: one system call and two small files; with SMT one more file for each thread.
///   only  the processors to count of those (the operating system's numbers); empty: all
Processors count_processors(const std::vector<unsigned>& only = {});

/// Throws Stop (usage) where this process may not use one of them. host: its node, for the line.
void check_allowed(const std::vector<unsigned>& processors, std::string_view host);

}  // namespace weft::placement
