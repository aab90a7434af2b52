// SPDX-License-Identifier: BSD-3-Clause
// What the launcher knows of each rank's process, wherever it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/job/rank.hpp"

namespace weft::jobs {

class RankStates {
 public:
  explicit RankStates(std::uint32_t ranks) : ranks_(ranks) {}

  /// pid: not above 0 if the rank could not be started.
  void set_started(job::Rank rank, int pid) {
    auto& state = ranks_[index(rank)];
    state.pid = pid;
    state.is_running = pid > 0;
  }
  void set_ended(job::Rank rank) { ranks_[index(rank)].is_running = false; }
  /// Another rank has asked for its end, which is no failure then. The call may come before set_started():
  /// ranks of a faster node run before those of a slower one. Ranks that the job does not have are ignored.
  void expect_end(const std::vector<job::Rank>& ranks) {
    for (const auto rank : ranks)
      if (index(rank) < ranks_.size()) ranks_[index(rank)].is_end_expected = true;
  }

  bool is_running(job::Rank rank) const {
    return index(rank) < ranks_.size() && ranks_[index(rank)].is_running;
  }
  bool is_end_expected(job::Rank rank) const { return ranks_[index(rank)].is_end_expected; }
  int pid(job::Rank rank) const { return ranks_[index(rank)].pid; }  ///< also after its end
  std::vector<job::Rank> running() const {
    std::vector<job::Rank> running;
    for (std::size_t i = 0; i < ranks_.size(); ++i)
      if (ranks_[i].is_running) running.push_back(job::rank_at(i));
    return running;
  }

 private:
  struct State {
    int pid = -1;
    bool is_running = false;
    bool is_end_expected = false;
  };
  std::vector<State> ranks_;
};

}  // namespace weft::jobs
