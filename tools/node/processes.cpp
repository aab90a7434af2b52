// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/processes.hpp"

#include <csignal>

namespace weft::node {

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

std::optional<Rank> Processes::take_end(pid_t pid) {
  const auto at = by_pid_.find(pid);
  if (at == by_pid_.end()) return std::nullopt;
  const auto rank = at->second;
  // From here on another process may have this pid: no signal is sent to it any more.
  processes_[index(rank)].is_running = false;
  by_pid_.erase(at);
  --running_count_;
  return rank;
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

}  // namespace weft::node
