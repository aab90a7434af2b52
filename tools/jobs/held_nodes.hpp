// SPDX-License-Identifier: BSD-3-Clause
// On which nodes of a job all ranks that are to stop for a debugger have: each node reports a point, and once
// more where it hears of a rank after that rank's end. A point at which no rank has stopped is not reported.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/job/stops.hpp"

namespace weft::jobs {

class HeldNodes {
 public:
  void expect(job::StopPoint point, std::uint32_t node) { of(point).missing.insert(node); }
  bool expects(job::StopPoint point, std::uint32_t node) const { return of(point).missing.count(node) != 0; }

  /// All ranks of the node have stopped. The result, once a point: all of the job have, and there are some.
  std::optional<job::Held> held(std::uint32_t node, const job::Held& report) {
    auto& at = of(report.point);
    if (at.missing.erase(node) == 0 && at.ranks.count(node) == 0) return std::nullopt;
    at.ranks[node] = report.ranks;
    if (at.breakpoint.empty()) at.breakpoint = report.breakpoint;
    return outcome_of(report.point);
  }
  /// None of the node is waited for any more.
  std::vector<job::Held> lost(std::uint32_t node) {
    std::vector<job::Held> out;
    for (const auto point : job::all_stop_points)
      if (of(point).missing.erase(node) != 0)
        if (auto outcome = outcome_of(point)) out.push_back(std::move(*outcome));
    return out;
  }

 private:
  struct Point {
    std::set<std::uint32_t> missing;
    std::string breakpoint;
    std::map<std::uint32_t, std::uint32_t> ranks;  // that have stopped, by node
    bool is_told = false;
  };
  std::optional<job::Held> outcome_of(job::StopPoint point) {
    auto& at = of(point);
    std::uint32_t ranks = 0;
    for (const auto& [node, stopped] : at.ranks) ranks += stopped;
    if (!at.missing.empty() || ranks == 0 || std::exchange(at.is_told, true)) return std::nullopt;
    return job::Held{point, at.breakpoint, ranks};
  }
  Point& of(job::StopPoint point) { return points_[static_cast<std::size_t>(point)]; }
  const Point& of(job::StopPoint point) const { return points_[static_cast<std::size_t>(point)]; }

  std::array<Point, job::all_stop_points.size()> points_;
};

}  // namespace weft::jobs
