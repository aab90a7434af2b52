// SPDX-License-Identifier: BSD-3-Clause
// The same operations by whole servers in virtual time (simulation/world.hpp), with all that they send.
#pragma once

#include <string>
#include <vector>

#include "tools/weftsim/operation.hpp"

namespace weft::weftsim {

inline constexpr std::uint32_t most_servers = 4096;

/// Of `names` those that servers do among themselves: not launch and init. What a server computes is added to
/// the overhead of each message; bytes cost no processor. Throws Stop (usage): too many nodes.
std::vector<Operation> run_servers(const Job& job, const std::vector<std::string>& names);

}  // namespace weft::weftsim
