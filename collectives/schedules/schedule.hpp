// SPDX-License-Identifier: BSD-3-Clause
// What one member of a collective does, as data. A schedule is a pure function of the algorithm, the number of members
// and one's own index: no bytes, no sizes, no peers' state. The engine runs it over a mesh, the simulator in virtual
// time, and the tests check it for all members at once.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::collectives {

/// Of a member in its collective: 0..n-1. Not a rank and not a node number.
enum class Index : std::uint32_t {};
constexpr std::uint32_t number(Index index) noexcept {
  return static_cast<std::uint32_t>(index);
}

/// Contributions of the members first, first + 1, ... around the circle of n. A barrier's are empty: it moves none.
struct Blocks {
  Index first{};
  std::uint32_t count = 0;
  bool operator==(const Blocks&) const = default;
};

/// One message. Its receiver has a transfer of the same blocks from us, in one of its own steps; two of one pair of
/// members are in the same order at both.
struct Transfer {
  Index peer{};
  Blocks blocks;
  bool operator==(const Transfer&) const = default;
};

/// All of it may be under way at once. What is sent is one's own or was received in an earlier step. A step is over when
/// its receives are; its sends may still be.
struct Step {
  std::vector<Transfer> sends, receives;
};

using Schedule = std::vector<Step>;

}  // namespace weft::collectives
