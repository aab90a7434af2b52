// SPDX-License-Identifier: BSD-3-Clause
// Process sets: names that the host gives to processes, for programs to ask about. A set cannot be changed,
// and a process may be in several. The loop's thread only. Source: PMIx Standard, chapter
// "Process Sets and Groups".
#pragma once

#include <map>
#include <string>

#include "core/link/rank_runs.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class ProcessSets {
 public:
  explicit ProcessSets(const Jobs& jobs) : jobs_(jobs) {}

  /// members: in any order, a job by PMIX_RANK_WILDCARD or rank by rank. PMIX_ERR_BAD_PARAM (no name, or one
  /// that is longer than PMIX_MAX_NSLEN or holds a comma, which separates names in answers; no members),
  /// PMIX_ERR_EXISTS (a set or a namespace of that name), PMIX_ERR_NOT_FOUND (a member of no namespace that
  /// is registered here, or no rank of it).
  pmix_status_t define(const std::string& name, Procs members);
  /// False: there is no such set.
  bool remove(const std::string& name) { return sets_.erase(name) != 0; }
  /// The namespace has ended: its processes are in no set any more, and a set without processes ends.
  void forget(std::string_view nspace);

  /// Null: there is no such set.
  const link::RankRuns* find(const std::string& name) const;
  std::size_t size() const noexcept { return sets_.size(); }
  /// Calls see(name, members), by name.
  template <class See>
  void each(See&& see) const {
    for (const auto& [name, members] : sets_) see(name, members);
  }
  /// "a,b", by name.
  std::string names() const;

 private:
  const Jobs& jobs_;
  std::map<std::string, link::RankRuns> sets_;
};

}  // namespace weft::server
