// SPDX-License-Identifier: BSD-3-Clause
// Looks after fences, and operations of groups, that do not end: asks the other nodes whether their part will
// come, and reports what is stuck, once a generation.
//
// The lowest node that is in a fence between nodes reports for all. The loop's thread only.
#pragma once

#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>
#include "core/server/loop/loop.hpp"

#include "core/server/groups/group_reports.hpp"

namespace weft::server {

class FenceWatch {
 public:
  /// stuck_after: 0: nothing is reported.
  FenceWatch(Loop& loop, Fences& fences, GroupReports& groups, Cluster& cluster, Exchanges& exchanges,
             std::chrono::seconds stuck_after);

  /// Exchanges may be under way now: looks after them until there are none. Without them no timer runs.
  void follow_exchanges();

 private:
  struct Inquiry;

  void arm_report();
  void report_waiting();
  void poll();
  void inquire(std::shared_ptr<Inquiry> inquiry, bool is_lower_half);
  void conclude(const Inquiry& inquiry) const;

  Loop& loop_;
  Fences& fences_;
  GroupReports& groups_;
  Cluster& cluster_;
  Exchanges& exchanges_;
  const std::chrono::seconds stuck_after_;
  std::set<Exchanges::Key> reported_;  ///< exchanges that are under way
  std::unique_ptr<Timer> report_timer_, poll_timer_;
  bool is_polling_ = false;
};

}  // namespace weft::server
