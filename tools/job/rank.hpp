// SPDX-License-Identifier: BSD-3-Clause
// Which process of the job. A type of its own, so that it is never mixed up with a pid, a status or a core.
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

/// PMIX_LOCAL_RANK has 16 bits.
inline constexpr std::uint32_t most_ranks_a_node = 65'535;
/// Of a job; a bound for typing errors, far below what the wire formats carry.
inline constexpr std::uint32_t most_ranks = 1U << 24;

}  // namespace weft::job
