// SPDX-License-Identifier: BSD-3-Clause
// The same operations by whole servers in virtual time (simulation/world.hpp), with all that they send.
#pragma once

#include <string>
#include <vector>

#include "tools/weftsim/operation.hpp"

namespace weft::weftsim {

inline constexpr std::uint32_t most_servers = 4096;
inline constexpr std::uint64_t most_card_of_servers = 32 << 10;  ///< bytes; of the simulation's cards

/// Of `names` those that servers do among themselves: not launch and init. What a server computes for a
/// message is added to the message's overhead; bytes cost no processor. Throws Stop (usage): too many nodes,
/// or cards that are too long. Cost: memory and time grow with the square of the nodes, 27 s and 1.2 GB for
/// 1,024.
std::vector<Operation> run_servers(const Job& job, const std::vector<std::string>& names);

}  // namespace weft::weftsim
