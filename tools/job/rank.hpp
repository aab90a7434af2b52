// SPDX-License-Identifier: BSD-3-Clause
// The number of a process in its job. A type of its own, so that a rank is never mixed up with a pid, a
// status or a core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::job {

enum class Rank : std::uint32_t {};

constexpr std::uint32_t number(Rank rank) noexcept {
  return static_cast<std::uint32_t>(rank);
}
constexpr std::size_t index(Rank rank) noexcept {
  return number(rank);
}
constexpr Rank rank_at(std::size_t i) noexcept {
  return Rank{static_cast<std::uint32_t>(i)};
}

/// Bound of a node's ranks: PMIX_LOCAL_RANK has 16 bits.
inline constexpr std::uint32_t most_ranks_a_node = 65'535;
/// Bound of a job's size: catches typing errors, and is far below what the wire formats carry.
inline constexpr std::uint32_t most_ranks = 1U << 24;

}  // namespace weft::job
