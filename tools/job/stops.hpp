// SPDX-License-Identifier: BSD-3-Clause
// Where ranks of a program stop until a debugger lets them go on (PMIX_DEBUG_STOP_ON_EXEC, _IN_INIT,
// _IN_APP).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/job/rank.hpp"

namespace weft::job {

enum class StopPoint : std::uint8_t {
  exec,  ///< before the first instruction of the program
  init,  ///< in PMIx_Init
  app,   ///< where the program itself says
};
inline constexpr std::array all_stop_points = {StopPoint::exec, StopPoint::init, StopPoint::app};

/// PMIX_BREAKPOINT of all ranks that stop there; empty: the program names it.
constexpr std::string_view breakpoint_of(StopPoint point) noexcept {
  switch (point) {
    case StopPoint::exec:
      return "pmix-exec";
    case StopPoint::init:
      return "pmix-init";
    case StopPoint::app:
      break;
  }
  return {};
}
inline constexpr std::size_t longest_breakpoint = 255;

/// Of the ranks of one program.
struct StoppedRanks {
  bool all = false;
  std::vector<Rank> named;  ///< by their numbers in the job, ascending

  bool is_any() const noexcept { return all || !named.empty(); }
  bool includes(Rank rank) const noexcept {
    return all || std::binary_search(named.begin(), named.end(), rank);
  }
};
template <class Archive>
void fields(Archive& archive, StoppedRanks& ranks) {
  archive(ranks.all);
  archive(ranks.named);
}
inline bool is_valid(const StoppedRanks& ranks) noexcept {
  return std::is_sorted(ranks.named.begin(), ranks.named.end());
}

struct Stops {
  std::array<StoppedRanks, all_stop_points.size()> points;

  StoppedRanks& at(StopPoint point) noexcept { return points[static_cast<std::size_t>(point)]; }
  const StoppedRanks& at(StopPoint point) const noexcept { return points[static_cast<std::size_t>(point)]; }
  bool is_any() const noexcept {
    return std::any_of(points.begin(), points.end(), [](const auto& ranks) { return ranks.is_any(); });
  }
};
template <class Archive>
void fields(Archive& archive, Stops& stops) {
  archive(stops.points);
}

/// The ranks of a node, or of a part of them, have all come to the point where they stop, or have ended.
struct Held {
  StopPoint point = StopPoint::exec;
  std::string breakpoint;   ///< PMIX_BREAKPOINT of the first of them
  std::uint32_t ranks = 0;  ///< that are held
};
inline bool is_valid(const Held& held) noexcept {
  return held.point <= StopPoint::app && held.breakpoint.size() <= longest_breakpoint;
}
template <class Archive>
void fields(Archive& archive, Held& held) {
  archive(held.point);
  archive(held.breakpoint);
  archive(held.ranks);
}

}  // namespace weft::job
