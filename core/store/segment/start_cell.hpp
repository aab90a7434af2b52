// SPDX-License-Identifier: BSD-3-Clause
// When a rank was in its first calls, for a launcher that accounts for the start (docs/scale/account.md).
// One cell for each local rank in the job's control area, or none where no launcher asks.
//
//   | init: begun, ended | fence: begun, ended | fetch: begun, ended |      nanoseconds; 0: not yet
//
// I1  A cell is written by the rank's own process, each number once.
// I2  Times are of CLOCK_MONOTONIC, as the rank reads it: of use beside other times of its node only.
// I3  The server trusts none of them: a wrong one spoils a line of a report.
// Crash: a rank that dies leaves what it had written.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weft::store {

/// The first call of its kind in a process.
class FirstCall {
 public:
  static std::uint64_t now() noexcept {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
  }

  /// Any thread. True: the caller's call is the first, and ended() is to follow.
  bool begin(std::uint64_t at = now()) noexcept {
    std::uint64_t none = 0;
    return begun_.load(std::memory_order_relaxed) == 0 &&
           begun_.compare_exchange_strong(none, at, std::memory_order_relaxed);
  }
  void end() noexcept { ended_.store(now(), std::memory_order_relaxed); }

  std::uint64_t begun() const noexcept { return begun_.load(std::memory_order_relaxed); }
  std::uint64_t ended() const noexcept { return ended_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> begun_{0}, ended_{0};
};

struct alignas(64) StartCell {
  FirstCall init;   ///< PMIx_Init; a wait for a debugger in it does not count
  FirstCall fence;  ///< a fence of any set
  FirstCall fetch;  ///< a Get for which the server brings something of a rank of another node
};
static_assert(sizeof(StartCell) == 64);

/// Notes one call, from here to the end of this object. Costs a branch where there is no cell.
class FirstCallScope {
 public:
  explicit FirstCallScope(FirstCall* call) noexcept : call_(call) {
    if (call_ != nullptr && !call_->begin()) call_ = nullptr;
  }
  ~FirstCallScope() {
    if (call_ != nullptr) call_->end();
  }
  FirstCallScope(const FirstCallScope&) = delete;
  FirstCallScope& operator=(const FirstCallScope&) = delete;

 private:
  FirstCall* call_;
};

}  // namespace weft::store
