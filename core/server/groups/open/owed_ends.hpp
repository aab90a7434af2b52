// SPDX-License-Identifier: BSD-3-Clause
// Which members of this node have still to hear of an attempt that has failed before they called.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "collectives/message.hpp"
#include "core/events/range.hpp"
#include "core/link/rank_runs.hpp"
#include "core/server/jobs/proc_set.hpp"

namespace weft::server {

/// Ends of attempts that have failed before all members of this node called: the next call of each of these
/// members belongs to that attempt, and gets its status, whatever directives it brings.
class OwedEnds {
 public:
  static constexpr std::size_t most =
      1024;  ///< attempts; the oldest goes, and a member that calls for it begins another

  void add(const collectives::Signature& operation, pmix_status_t status, link::RankRuns members) {
    if (members.empty()) return;
    if (ends_.size() == most) ends_.pop_front();
    ends_.push_back({operation, status, std::move(members)});
  }
  bool empty() const noexcept { return ends_.empty(); }
  /// Of the oldest attempt of that operation that owes it to the process. Nothing: its call is of a new
  /// attempt.
  std::optional<pmix_status_t> take(const collectives::Signature& operation, const pmix_proc_t& proc) {
    for (auto end = ends_.begin(); end != ends_.end(); ++end) {
      if (end->operation != operation || !link::holds(end->members, proc)) continue;
      const auto status = end->status;
      without(*end, proc);
      if (end->members.empty()) ends_.erase(end);
      return status;
    }
    return std::nullopt;
  }
  /// A process has ended, or all of a namespace: it does not call any more.
  void lose(const pmix_proc_t& proc) {
    for (auto& end : ends_) without(end, proc);
    std::erase_if(ends_, [](const End& end) { return end.members.empty(); });
  }

 private:
  struct End {
    collectives::Signature operation;
    pmix_status_t status;
    link::RankRuns members;
  };
  static void without(End& end, const pmix_proc_t& proc) {
    auto procs = link::procs_of(end.members).value_or(Procs());
    std::erase_if(procs, [&](const pmix_proc_t& each) { return events::covers(proc, each); });
    end.members = link::runs_of(procs);
  }
  std::deque<End> ends_;
};

}  // namespace weft::server
