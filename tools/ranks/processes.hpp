// SPDX-License-Identifier: BSD-3-Clause
// The processes of the job: start, signal, collect their ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tools/job/rank.hpp"
#include "tools/process/spawn.hpp"

namespace weft::ranks {

class Processes {
 public:
  /// spawner: outlives this object. size: ranks of the job.
  Processes(const process::Spawner& spawner, std::uint32_t size) : spawner_(spawner), processes_(size) {}

  /// Starts the process of `rank`. On failure nothing is there for it.
  process::SpawnResult start(job::Rank rank, const process::SpawnRequest& request);

  struct Ended {
    job::Rank rank;
    int wait_status;  ///< as waitpid tells it
  };
  /// All ranks that have ended since the last call, in the order in which the kernel tells of them. Reaps all
  /// other children (adopted orphans, agents) on the way, and tells `other`, if there is one.
  std::vector<Ended> collect(const std::function<void(pid_t, int wait_status)>& other);

  /// To the process groups of all living ranks, or of those named.
  void send(int signal) const;
  void send(int signal, const std::vector<job::Rank>& ranks) const;

  pid_t pid(job::Rank rank) const noexcept { return processes_[index(rank)].pid; }  ///< also after its end
  bool lives(job::Rank rank) const noexcept { return processes_[index(rank)].lives; }
  std::uint32_t living() const noexcept { return living_; }
  std::vector<job::Rank> living_ranks() const;

 private:
  struct Process {
    pid_t pid = -1;
    bool lives = false;
  };
  const process::Spawner& spawner_;
  std::vector<Process> processes_;
  std::unordered_map<pid_t, job::Rank> by_pid_;  // of the living
  std::uint32_t living_ = 0;
};

}  // namespace weft::ranks
