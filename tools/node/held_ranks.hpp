// SPDX-License-Identifier: BSD-3-Clause
// Which ranks of a node are to stop for a debugger, and whether all have. A rank that ends is waited for no
// longer; one that was let go before has stopped all the same. The end of a process may be heard of before
// what the process said, so a rank may stop after its end, and the outcome is told once more.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/job/rank.hpp"
#include "tools/job/stops.hpp"

namespace weft::node {

class HeldRanks {
 public:
  void expect(job::StopPoint point, job::Rank rank) { of(point).missing.insert(rank); }
  bool expects(job::StopPoint point, job::Rank rank) const {
    return of(point).missing.count(rank) != 0 || of(point).gone.count(rank) != 0;
  }

  /// The rank has stopped. The result: now all at that point have.
  std::optional<job::Held> held(job::StopPoint point, job::Rank rank, const std::string& breakpoint) {
    auto& at = of(point);
    if (at.missing.erase(rank) == 0 && at.gone.erase(rank) == 0) return std::nullopt;
    if (at.held++ == 0) at.breakpoint = breakpoint.substr(0, job::longest_breakpoint);
    return outcome_of(point);
  }
  /// The same at each point that waited for the rank alone.
  std::vector<job::Held> ended(job::Rank rank) {
    std::vector<job::Held> out;
    for (const auto point : job::all_stop_points) {
      auto& at = of(point);
      if (at.missing.erase(rank) == 0) continue;
      at.gone.insert(rank);
      if (auto outcome = outcome_of(point)) out.push_back(std::move(*outcome));
    }
    return out;
  }

 private:
  struct Point {
    std::set<job::Rank> missing, gone;  // gone: ended without a word
    std::string breakpoint;
    std::uint32_t held = 0;
  };
  Point& of(job::StopPoint point) { return points_[static_cast<std::size_t>(point)]; }
  const Point& of(job::StopPoint point) const { return points_[static_cast<std::size_t>(point)]; }
  std::optional<job::Held> outcome_of(job::StopPoint point) const {
    const auto& at = of(point);
    if (!at.missing.empty()) return std::nullopt;
    return job::Held{point, at.breakpoint, at.held};
  }

  std::array<Point, job::all_stop_points.size()> points_;
};

}  // namespace weft::node
