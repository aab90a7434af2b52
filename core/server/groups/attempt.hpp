// SPDX-License-Identifier: BSD-3-Clause
// What the servers say to each other of an attempt of an operation that one of them has seen fail with a lost node, how an attempt has ended,
// and which members have not heard yet of one that has failed.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "core/events/range.hpp"
#include "core/server/fences/exchange/exchange.hpp"

namespace weft::server {

/// How has it ended at the receiver? If it is under way there, it ends with the loss of these nodes.
struct AttemptInquiry {
  static constexpr std::uint16_t wire_version = 1;
  FenceName attempt;
  FenceName first;  ///< of the same operation, before nodes were lost that this one is without
  std::vector<NodeNumber> lost;
};
template <class Archive>
void fields(Archive& archive, AttemptInquiry& m) {
  archive(m.attempt, m.first, m.lost);
}

/// How an attempt has ended here: another node may have seen it fail.
struct AttemptEnd {
  pmix_status_t status;
  std::vector<std::byte> made;  ///< of a construct that has ended well: a MadeGroup
};

/// Ends of attempts that have failed before all members of this node called: the next call of each of these members belongs to that attempt, and
/// gets its status, whatever directives it brings.
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
  /// Of the oldest attempt of that operation that owes it to the process. Nothing: its call is of a new attempt.
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
