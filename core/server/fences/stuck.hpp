// SPDX-License-Identifier: BSD-3-Clause
// What a fence that does not end waits for: the text, and when it is due.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/server/fences/fence_part.hpp"

namespace weft::server {

/// "0-4,7,9-11"; ranks ascending.
std::string rank_ranges(const std::vector<std::uint32_t>& ranks);

/// A fence that has been open for too long, with the processes that it waits for.
struct StuckFence {
  struct OnNode {
    std::string host;  ///< empty: this one
    std::vector<AbsentRank> missing;
    bool has_answered = true;  ///< false: its server does not answer, so what is missing there is not known
  };
  FenceName name;
  std::string remark{};  ///< as FencePart
  std::chrono::seconds age{};
  std::size_t members = 0, arrived = 0;
  std::string_view unit;  ///< of both: "local ranks" or "nodes"
  std::vector<OnNode> missing;
  std::string also{};  ///< what is missing besides, in words
};

/// One paragraph: the fence, its age, how much of it has come, the missing ranks with their hosts and pids,
/// and what to do.
std::string stuck_report(const StuckFence& fence);

/// Since when a generation has been open with a member in it; says once that it is due.
class StuckClock {
 public:
  using Clock = std::chrono::steady_clock;
  /// Age, if it is at least `limit` and was not reported yet for this generation.
  bool due(std::uint64_t generation, bool waiting, std::chrono::seconds limit, Clock::time_point now,
           std::chrono::seconds& age) {
    if (!is_running(generation, waiting, now)) return false;
    age = std::chrono::duration_cast<std::chrono::seconds>(now - since_);
    if (reported_ || now - since_ < limit) return false;
    reported_ = true;
    return true;
  }
  /// How long a generation that a member is in has been open: since the server first asked.
  std::chrono::milliseconds age(std::uint64_t generation, Clock::time_point now) {
    is_running(generation, true, now);
    return std::chrono::duration_cast<std::chrono::milliseconds>(now - since_);
  }

 private:
  /// False: the clock starts now, or stands.
  bool is_running(std::uint64_t generation, bool waiting, Clock::time_point now) {
    if (waiting && generation == generation_ && running_) return true;
    generation_ = generation;
    running_ = waiting;
    reported_ = false;
    since_ = now;
    return false;
  }

  std::uint64_t generation_ = 0;
  bool running_ = false;
  bool reported_ = false;
  Clock::time_point since_{};
};

}  // namespace weft::server
