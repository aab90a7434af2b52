// SPDX-License-Identifier: BSD-3-Clause
// The steps of one member of a collective, as data. A schedule is a pure function of the algorithm, the
// number of members and the member's own index; it contains no bytes, no sizes and no state of peers. The
// engine runs it over a mesh; the tests check it for all members at once.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::collectives {

/// The index of a member in its collective: 0..n-1. Not a rank and not a node number.
enum class Index : std::uint32_t {};
constexpr std::uint32_t number(Index index) noexcept {
  return static_cast<std::uint32_t>(index);
}

/// The contributions of members first, first + 1, ... around the circle of n. The contributions to a barrier
/// are empty: it moves none.
struct Blocks {
  Index first{};
  std::uint32_t count = 0;
  bool operator==(const Blocks&) const = default;
};

/// A message: blocks to or from one member. Where this member sends, the peer receives the same blocks in a
/// step of its own; the messages between two members are in the same order in both schedules.
struct PeerBlocks {
  Index peer{};
  Blocks blocks;
  bool operator==(const PeerBlocks&) const = default;
};

/// All messages of a step may be in flight at once. A member sends its own block or blocks received in
/// earlier steps. A step is complete when its receives are; its sends may still be in flight.
struct Step {
  std::vector<PeerBlocks> sends, receives;
};

using Schedule = std::vector<Step>;

}  // namespace weft::collectives
