// SPDX-License-Identifier: BSD-3-Clause
// Which process of the job. A type of its own, so that it is never mixed up with a pid, a status or a core.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::node {

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

}  // namespace weft::node
