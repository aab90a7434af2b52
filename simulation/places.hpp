// SPDX-License-Identifier: BSD-3-Clause
// The processes of all jobs of a run under one number each: those of the first job, then those of each job
// that may be started later. Pure functions of the shape of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/link/rank_runs.hpp"
#include "core/server/jobs/job.hpp"

namespace weft::simulation {

using server::NodeNumber;

/// 0: the first job, whose rank r is on node r / ranks_a_node.
using JobNumber = std::size_t;

class Places {
 public:
  /// spawned: of each other job, the node of each of its ranks.
  Places(std::uint32_t nodes, std::uint32_t ranks_a_node,
         const std::vector<std::vector<NodeNumber>>& spawned = {});

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  JobNumber jobs() const noexcept { return first_.size() - 1; }
  NodeNumber node_of(std::uint32_t process) const { return nodes_[process]; }
  JobNumber job_of(std::uint32_t process) const;
  std::uint32_t first_of(JobNumber job) const { return first_[job]; }
  std::uint32_t end_of(JobNumber job) const { return first_[job + 1]; }
  /// The nodes of a job's ranks.
  std::vector<NodeNumber> nodes_of(JobNumber job) const {
    return {nodes_.begin() + first_of(job), nodes_.begin() + end_of(job)};
  }
  static std::string nspace_of(JobNumber job) { return job == 0 ? "job" : "job." + std::to_string(job); }
  pmix_proc_t proc_of(std::uint32_t process) const;
  /// Nothing: it is of no such job.
  std::optional<std::uint32_t> process_of(const pmix_proc_t& proc) const;
  bool holds(const link::RankRuns& runs, std::uint32_t process) const {
    return link::holds(runs, proc_of(process));
  }

 private:
  std::vector<NodeNumber> nodes_;     ///< of each process
  std::vector<std::uint32_t> first_;  ///< process of each job, and the end of the last
};

}  // namespace weft::simulation
