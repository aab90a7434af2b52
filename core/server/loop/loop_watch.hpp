// SPDX-License-Identifier: BSD-3-Clause
// Notices when the loop was held up, and by what: all other clients, and the servers of other nodes, wait
// meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "pmix_common.h"

namespace weft::server {

class LoopWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// From the first on a line is an `info`, from the second on a `warn`: a machine with too little of a
  /// processor for all is late, too, and other nodes give a server up after some seconds.
  static constexpr std::chrono::milliseconds long_work{500}, too_long_work{2000};

  /// One piece of work: a message, a call of the host. Pieces inside a piece count as that one's.
  class Work {
   public:
    /// what: static text with a NUL behind it. of: whose work; valid until this object ends. Null: no
    /// process's.
    Work(LoopWatch& watch, std::string_view what, const pmix_proc_t* of = nullptr) noexcept
        : watch_(watch), what_(what), of_(of), is_outer_(watch.depth_++ == 0) {
      if (!is_outer_) return;
      begin_ = watch.now_();
      watch.current_.store(what.data(), std::memory_order_relaxed);
    }
    ~Work() {
      --watch_.depth_;
      // No other thread writes it.
      watch_.ended_.store(watch_.ended_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      if (!is_outer_) return;
      watch_.current_.store(nullptr, std::memory_order_relaxed);
      if (const auto took = watch_.now_() - begin_; took >= long_work) watch_.report(what_, of_, took);
    }
    Work(const Work&) = delete;

   private:
    LoopWatch& watch_;
    const std::string_view what_;
    const pmix_proc_t* const of_;
    const bool is_outer_;
    Clock::time_point begin_;
  };

  using Report = std::function<void(base::LogLevel, const std::string&)>;
  LoopWatch();
  /// For tests.
  LoopWatch(Clock::time_point (*now)(), Report report) : now_(now), report_(std::move(report)) {}
  /// The work that the loop is at; null: none. Any thread.
  const char* current() const noexcept { return current_.load(std::memory_order_relaxed); }
  /// Pieces of work that have ended, those inside a piece as well: a loop where this grows gets on. Any
  /// thread.
  std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

 private:
  void report(std::string_view what, const pmix_proc_t* of, Clock::duration took) const;

  Clock::time_point (*now_)();
  Report report_;
  unsigned depth_ = 0;
  std::atomic<const char*> current_{nullptr};
  std::atomic<std::uint64_t> ended_{0};
};

}  // namespace weft::server
