// SPDX-License-Identifier: BSD-3-Clause
// What an operation that does not end waits for: the text, and when it is due.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::server {

/// "0-4,7,9-11"; ranks ascending.
std::string rank_ranges(const std::vector<std::uint32_t>& ranks);

struct Missing {
  std::uint32_t rank;
  std::int32_t pid;  ///< 0: it never connected
};

/// One paragraph: operation, age, who arrived and who is missing, with pids, and what to do.
std::string stuck_report(std::string_view operation, std::string_view nspace, std::uint64_t generation,
                         std::chrono::seconds age, std::string_view host, std::size_t arrived,
                         std::size_t members, const std::vector<Missing>& missing);

/// Of a fence between nodes: one that has not come with all its ranks.
struct MissingOnNode {
  std::string host;
  std::vector<Missing> missing;  ///< ascending by rank
  bool has_answered = true;      ///< false: its server says nothing, so who is missing there is not known
};
std::string stuck_report_of_nodes(std::string_view nspace, std::uint64_t generation, std::chrono::seconds age,
                                  std::string_view host, std::size_t nodes,
                                  const std::vector<MissingOnNode>& missing);

/// Since when a generation has been open with somebody in it; says once that it is due.
class StuckClock {
 public:
  using Clock = std::chrono::steady_clock;
  /// Age, if it is at least `limit` and was not reported yet for this generation.
  bool due(std::uint64_t generation, bool waiting, std::chrono::seconds limit, std::chrono::seconds& age) {
    if (!look(generation, waiting)) return false;
    const auto now = Clock::now();
    age = std::chrono::duration_cast<std::chrono::seconds>(now - since_);
    if (reported_ || now - since_ < limit) return false;
    reported_ = true;
    return true;
  }
  /// Of a generation that somebody is in: since somebody first looked at it.
  std::chrono::milliseconds age(std::uint64_t generation) {
    look(generation, true);
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since_);
  }

 private:
  /// False: the clock starts now, or stands.
  bool look(std::uint64_t generation, bool waiting) {
    if (waiting && generation == generation_ && running_) return true;
    generation_ = generation;
    running_ = waiting;
    reported_ = false;
    since_ = Clock::now();
    return false;
  }

  std::uint64_t generation_ = 0;
  bool running_ = false;
  bool reported_ = false;
  Clock::time_point since_{};
};

}  // namespace weft::server
