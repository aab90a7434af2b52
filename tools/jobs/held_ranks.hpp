// SPDX-License-Identifier: BSD-3-Clause
// Which ranks are to stop for a debugger, and whether all of them have: of one node, and of a job over its
// nodes. A rank that ends is waited for no longer; a point at which none is left to stop is not reported.
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

namespace weft::jobs {

/// The ranks of one node.
class HeldRanks {
 public:
  void expect(job::StopPoint point, job::Rank rank) { of(point).missing.insert(rank); }
  bool expects(job::StopPoint point, job::Rank rank) const { return of(point).missing.count(rank) != 0; }

  /// The rank has stopped. The result: now all at that point have.
  std::optional<job::Held> held(job::StopPoint point, job::Rank rank, const std::string& breakpoint) {
    auto& at = of(point);
    if (at.missing.erase(rank) == 0) return std::nullopt;
    if (at.held.empty()) at.breakpoint = breakpoint.substr(0, job::longest_breakpoint);
    at.held.insert(rank);
    return outcome_of(point);
  }
  /// The same at each point that waited for the rank alone.
  std::vector<job::Held> ended(job::Rank rank) {
    std::vector<job::Held> out;
    for (const auto point : job::all_stop_points) {
      auto& at = of(point);
      const bool was_missing = at.missing.erase(rank) != 0;
      if (!was_missing) at.held.erase(rank);
      if (auto outcome = was_missing ? outcome_of(point) : std::nullopt) out.push_back(std::move(*outcome));
    }
    return out;
  }

 private:
  struct Point {
    std::set<job::Rank> missing, held;
    std::string breakpoint;
  };
  Point& of(job::StopPoint point) { return points_[static_cast<std::size_t>(point)]; }
  const Point& of(job::StopPoint point) const { return points_[static_cast<std::size_t>(point)]; }
  std::optional<job::Held> outcome_of(job::StopPoint point) const {
    const auto& at = of(point);
    if (!at.missing.empty()) return std::nullopt;
    return job::Held{point, at.breakpoint, static_cast<std::uint32_t>(at.held.size())};
  }

  std::array<Point, job::all_stop_points.size()> points_;
};

/// The nodes of a job, each of which reports once a point.
class HeldNodes {
 public:
  void expect(job::StopPoint point, std::uint32_t node) { of(point).missing.insert(node); }
  bool expects(job::StopPoint point, std::uint32_t node) const { return of(point).missing.count(node) != 0; }

  /// All ranks of the node have stopped. The result, once a point: all of the job have, and there are some.
  std::optional<job::Held> held(std::uint32_t node, const job::Held& report) {
    auto& at = of(report.point);
    if (at.missing.erase(node) == 0) return std::nullopt;
    if (at.ranks == 0) at.breakpoint = report.breakpoint;
    at.ranks += report.ranks;
    if (!at.missing.empty() || at.ranks == 0) return std::nullopt;
    return job::Held{report.point, at.breakpoint, at.ranks};
  }
  /// None of the node is waited for any more.
  std::vector<job::Held> lost(std::uint32_t node) {
    std::vector<job::Held> out;
    for (const auto point : job::all_stop_points)
      if (auto outcome = held(node, {point, {}, 0})) out.push_back(std::move(*outcome));
    return out;
  }

 private:
  struct Point {
    std::set<std::uint32_t> missing;
    std::string breakpoint;
    std::uint32_t ranks = 0;
  };
  Point& of(job::StopPoint point) { return points_[static_cast<std::size_t>(point)]; }
  const Point& of(job::StopPoint point) const { return points_[static_cast<std::size_t>(point)]; }

  std::array<Point, job::all_stop_points.size()> points_;
};

}  // namespace weft::jobs
