// SPDX-License-Identifier: BSD-3-Clause
// The jobs of a service as its users see them: those that wait for free slots, in their order, those that
// run, and the last that have ended. On the loop.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "tools/messages/stop.hpp"
#include "tools/weftrun/launcher/grace_timer.hpp"
#include "tools/weftrun/launcher/running_jobs.hpp"
#include "tools/weftrun/service/protocol.hpp"

namespace weft::weftrun::service {

class ServedJobs {
 public:
  /// Comes on the loop; about a job that is there, perhaps inside a call.
  struct Events {
    std::function<void(const State& state)> changed;  ///< `ended`: the last
    std::function<void(std::uint64_t id, const Refused& why)> refused;
    std::function<void()> none_left;
  };
  /// jobs: outlives this object.
  ServedJobs(asio::io_context& loop, RunningJobs& jobs, Events events)
      : loop_(loop), jobs_(jobs), events_(std::move(events)) {}

  /// descriptors: input, output, error.
  void add(std::uint64_t id, Run request, std::vector<base::Fd> descriptors);
  /// Nodes are there: what waits may start.
  void open();
  /// What waits and has room now.
  void start_waiting();
  /// One of a user's, or of its attacher's end. A number that is not for jobs is left out.
  void signal(std::uint64_t id, int number);
  /// The attacher has gone: nothing that the job writes is read. Ends it.
  void abandon(std::uint64_t id);
  /// Ends all, and starts no more; again: kills them.
  void close();
  bool is_empty() const noexcept { return jobs_here_.empty(); }
  std::vector<State> list() const;

  // What RunningJobs tells of a run.
  void on_launched(const UserRun& run, const JobRun& first);
  void on_ending(const UserRun& run);
  void on_over(const UserRun& run, int exit_code);

 private:
  struct Job {
    State state;
    std::vector<base::Fd> descriptors;  ///< the run's streams
    std::shared_ptr<UserRun> run;
    std::unique_ptr<GraceTimer> patience{};  ///< until its user is told that it waits
  };
  Job* find(const UserRun& run);
  void tell(Job& job, JobState state, const JobRun& of);
  void refuse(std::uint64_t id, const messages::Stop& stop);
  void remember(State state);
  void cancel(Job& job, int signal);
  void end(std::uint64_t id, int exit_code);

  asio::io_context& loop_;
  RunningJobs& jobs_;
  const Events events_;
  std::map<std::uint64_t, Job> jobs_here_;
  std::deque<std::uint64_t> waiting_;
  std::deque<State> ended_;
  bool is_open_ = false, is_closed_ = false;
};

}  // namespace weft::weftrun::service
