// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/spawned_jobs.hpp"

namespace weft::simulation {

SpawnedJobs::SpawnedJobs(JobNumber jobs, NodeNumber nodes, std::uint64_t seed)
    : random_(seed), jobs_(jobs), orders_(nodes) {}

void SpawnedJobs::start(JobNumber job, const std::vector<NodeNumber>& to, TimePoint now) {
  jobs_[job].state = State::starting;
  jobs_[job].untold = to.size();
  tell(to, {.job = job}, now);
}

void SpawnedJobs::end(JobNumber job, const std::vector<NodeNumber>& to, TimePoint now) {
  tell(to, {.job = job, .is_end = true}, now);
}

/// Mostly about as long as a message, now and then as long as whole operations.
void SpawnedJobs::tell(const std::vector<NodeNumber>& nodes, Order order, TimePoint now) {
  for (const auto node : nodes) {
    order.node = node;
    orders_.send(order, std::chrono::microseconds(random_() % (random_() % 8 == 0 ? 5000 : 100)), now);
  }
}

void SpawnedJobs::is_done(const Order& order) {
  auto& job = jobs_[order.job];
  if (order.is_end || --job.untold != 0 || job.state != State::starting) return;
  job.state = State::running;
}

}  // namespace weft::simulation
