// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/places.hpp"

#include <algorithm>

#include "core/link/proc_set.hpp"

namespace weft::simulation {

Places::Places(std::uint32_t nodes, std::uint32_t ranks_a_node,
               const std::vector<std::vector<NodeNumber>>& spawned) {
  first_.push_back(0);
  for (std::uint32_t process = 0; process < nodes * ranks_a_node; ++process)
    nodes_.push_back(process / ranks_a_node);
  first_.push_back(count());
  for (const auto& job : spawned) {
    nodes_.insert(nodes_.end(), job.begin(), job.end());
    first_.push_back(count());
  }
}

JobNumber Places::job_of(std::uint32_t process) const {
  const auto behind = std::upper_bound(first_.begin(), first_.end(), process);
  return static_cast<JobNumber>(behind - first_.begin()) - 1;
}

pmix_proc_t Places::proc_of(std::uint32_t process) const {
  const auto job = job_of(process);
  return link::make_proc(nspace_of(job), process - first_of(job));
}

std::optional<std::uint32_t> Places::process_of(const pmix_proc_t& proc) const {
  for (JobNumber job = 0; job < jobs(); ++job)
    if (link::nspace_of(proc) == nspace_of(job) && proc.rank < end_of(job) - first_of(job))
      return first_of(job) + proc.rank;
  return std::nullopt;
}

}  // namespace weft::simulation
