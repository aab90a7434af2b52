// SPDX-License-Identifier: BSD-3-Clause
// The processes of the job: start, signal, note their ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tools/job/rank.hpp"
#include "tools/process/spawn.hpp"

namespace weft::node {

class Processes {
 public:
  /// spawner: outlives this object. size: ranks of the job.
  Processes(const process::Spawner& spawner, std::uint32_t size) : spawner_(spawner), processes_(size) {}

  /// Starts the process of `rank`. On failure there is no process.
  process::SpawnResult start(job::Rank rank, const process::SpawnRequest& request);

  struct Ended {
    job::Rank rank;
    int wait_status;  ///< of waitpid
  };
  /// The running rank whose process had this pid, and has been reaped; nothing: it is none of these.
  std::optional<job::Rank> take_end(pid_t pid);

  /// Signals the process groups of all running ranks, or of those of these that run.
  void send(int signal) const;
  void send(int signal, const std::vector<job::Rank>& ranks) const;

  pid_t pid(job::Rank rank) const noexcept { return processes_[index(rank)].pid; }  ///< also after its end
  bool is_running(job::Rank rank) const noexcept { return processes_[index(rank)].is_running; }
  std::uint32_t running() const noexcept { return running_count_; }
  std::vector<job::Rank> running_ranks() const;

 private:
  struct Process {
    pid_t pid = -1;
    bool is_running = false;
  };
  const process::Spawner& spawner_;
  std::vector<Process> processes_;
  std::unordered_map<pid_t, job::Rank> by_pid_;  // of the running ranks
  std::uint32_t running_count_ = 0;
};

}  // namespace weft::node
