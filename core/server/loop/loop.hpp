// SPDX-License-Identifier: BSD-3-Clause
// The loop of a server, as its rooms see it: what time it is, and what runs later. The loop's thread only,
// but for post().
//
// Time      The machine's steady clock, or another one: then the owner of that clock moves it and calls
//           run_due(), and all that waits for a time does so in a moment. Rooms read no clock of their own.
// Order     Timers run by their time, and those of one time in the order in which they were set.
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace weft::server {

class Loop {
 public:
  using Clock = std::chrono::steady_clock;
  using TimePoint = Clock::time_point;

  explicit Loop(asio::io_context& io) : Loop(io, nullptr) {}
  /// now: of another clock; it outlives the loop.
  Loop(asio::io_context& io, const TimePoint* now) : io_(io), now_(now), alarm_(io) {}
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  TimePoint now() const noexcept { return now_ != nullptr ? *now_ : Clock::now(); }
  asio::io_context& io() const noexcept { return io_; }
  /// Runs in a later round. Any thread.
  template <class Task>
  void post(Task&& task) {
    asio::post(io_, std::forward<Task>(task));
  }

  /// When the first timer is due; nothing: none is set.
  std::optional<TimePoint> next() const noexcept;
  /// Runs what is due by now, and what that sets for an earlier time in a later call.
  void run_due();

 private:
  friend class Timer;
  using Key = std::pair<TimePoint, std::uint64_t>;  ///< the second: of those of one time, which was set first

  Key set(TimePoint when, std::function<void()> then);
  void arm();

  asio::io_context& io_;
  const TimePoint* const now_;
  std::map<Key, std::function<void()>> timers_;
  std::uint64_t next_number_ = 0;
  asio::steady_timer alarm_;  ///< of the machine's clock
  TimePoint alarm_at_ = TimePoint::max();
};

/// Calls `then` once, at its time, unless it ends before: behind that nothing of it runs. A timer may end
/// in its own `then`, and the loop outlives it.
class Timer {
 public:
  Timer(Loop& loop, Loop::TimePoint when, std::function<void()> then)
      : loop_(loop), key_(loop.set(when, std::move(then))) {}
  Timer(Loop& loop, Loop::Clock::duration after, std::function<void()> then)
      : Timer(loop, loop.now() + after, std::move(then)) {}
  ~Timer() { loop_.timers_.erase(key_); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Loop& loop_;
  const Loop::Key key_;
};

}  // namespace weft::server
