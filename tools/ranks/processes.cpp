// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ranks/processes.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace weft::ranks {

using job::Rank;

process::SpawnResult Processes::start(Rank rank, const process::SpawnRequest& request) {
  const process::SpawnResult result = spawner_.spawn(request);
  if (result.pid > 0) {
    processes_[index(rank)] = {result.pid, true};
    by_pid_.emplace(result.pid, rank);
    ++running_count_;
  }
  return result;
}

std::vector<Processes::Ended> Processes::reap(const std::function<void(pid_t, int)>& other) {
  std::vector<Ended> ended;
  for (;;) {
    int wait_status = 0;
    const pid_t pid = ::waitpid(-1, &wait_status, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return ended;
    const auto at = by_pid_.find(pid);
    if (at == by_pid_.end()) {
      if (other) other(pid, wait_status);
      continue;
    }
    ended.push_back({at->second, wait_status});
    // From here on another process may have this pid: no signal is sent to it any more.
    processes_[index(at->second)].is_running = false;
    by_pid_.erase(at);
    --running_count_;
  }
}

void Processes::send(int signal) const {
  for (const auto& process : processes_) {
    if (process.is_running) ::kill(-process.pid, signal);
  }
}

void Processes::send(int signal, const std::vector<Rank>& ranks) const {
  for (const Rank rank : ranks) {
    if (index(rank) < processes_.size() && is_running(rank)) ::kill(-pid(rank), signal);
  }
}

std::vector<Rank> Processes::running_ranks() const {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].is_running) ranks.push_back(job::rank_at(i));
  }
  return ranks;
}

}  // namespace weft::ranks
