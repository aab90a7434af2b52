// SPDX-License-Identifier: BSD-3-Clause
// What the host of all nodes does about jobs that are started later: each node is told of a job, after a time
// of its own, then that job is there; a job whose processes have all ended is taken away at each node, after
// a time of its own, too. What a node is told comes in the order in which it was said.
#pragma once

#include <random>
#include <vector>

#include "simulation/mail.hpp"

namespace weft::simulation {

class SpawnedJobs {
 public:
  using TimePoint = server::Loop::TimePoint;
  enum class State {
    unknown,
    starting,  ///< some nodes have not been told
    running,   ///< all have
    failed,    ///< a node of its processes was lost before
  };
  struct Order {
    NodeNumber node = 0;
    JobNumber job = 0;
    bool is_end = false;  ///< the job is taken away; else the node hears of it
  };

  SpawnedJobs(JobNumber jobs, NodeNumber nodes, std::uint64_t seed);

  State state_of(JobNumber job) const { return jobs_[job].state; }
  /// to: the nodes that are there.
  void start(JobNumber job, const std::vector<NodeNumber>& to, TimePoint now);
  /// Its processes are over, or have to end because it has failed. Once a job.
  void end(JobNumber job, const std::vector<NodeNumber>& to, TimePoint now);
  void has_failed(JobNumber job) { jobs_[job].state = State::failed; }
  /// It is carried out, or its node is lost.
  void is_done(const Order& order);
  Mail<Order>& orders() noexcept { return orders_; }

 private:
  struct Job {
    State state = State::unknown;
    std::size_t untold = 0;  ///< nodes
  };
  void tell(const std::vector<NodeNumber>& nodes, Order order, TimePoint now);

  std::mt19937_64 random_;
  std::vector<Job> jobs_;
  Mail<Order> orders_;
};

}  // namespace weft::simulation
