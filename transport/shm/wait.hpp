// SPDX-License-Identifier: BSD-3-Clause
// How a process waits for a shared word to change: the only place that decides it.
//
// Waking a sleeping core costs tens of microseconds, a yield on a busy core well under one. Hence a waiter
//   1. spins for up to `spin` if every waiter has a core of its own;
//   2. then (at once, where waiters outnumber cores) yields between checks for up to `yield`;
//   3. then sleeps on the futex, in slices, so that the caller's own check notices a waker that died.
// A waiter for another node yields only as long as no other process wants its core: what comes from another
// node passes through a server that needs a core.
// A waiter for what a host does sleeps at once.
// A waiter therefore uses at most spin + yield of processor time before it sleeps: 50 us + 2 ms.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "transport/shm/futex.hpp"

namespace weft::shm {

struct WaitPolicy {
  std::chrono::microseconds spin{0};
  std::chrono::microseconds yield{2000};
  std::chrono::milliseconds slice{100};
  std::chrono::microseconds longest_yield = std::chrono::hours{1};  ///< a yield that takes longer ends step 2

  /// waiters: processes of this node that may wait at the same time; cores: the cores that they share. A
  /// process bound to one core cannot tell whether the core is its own, so the server, which is not bound,
  /// counts the cores.
  static WaitPolicy for_waiters(unsigned waiters, unsigned cores) noexcept;
  /// The policy for waiting on other nodes. waiters: includes the server.
  static WaitPolicy for_other_nodes(unsigned waiters, unsigned cores) noexcept;
  /// A sleep at once, for waiting on what takes longer than any look is worth, in processes that need the
  /// cores: a host's exchange, the start of other processes.
  static WaitPolicy at_once() noexcept;
};

/// Cores that this process may run on.
unsigned usable_cores() noexcept;

inline void cpu_relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

/// The words that a waiter shares with those that wake it. They lie in shared memory, on a cache line of its
/// own.
///
/// I1  `epoch` changes after every change of the condition; a waiter reads it before the condition.
/// I2  A waiter counts itself in `sleepers` before it checks the condition the last time; a waker changes the
///     condition and `epoch` before it reads `sleepers`. The two sides are seq_cst, so one of them sees the
///     other.
/// Crash: a waiter killed while asleep leaves `sleepers` too high: one needless system call a wake, nothing
/// else.
struct alignas(64) WaitWord {
  FutexWord epoch{0};
  FutexWord sleepers{0};

  /// To be called after the condition has changed.
  void wake_all() noexcept {
    epoch.fetch_add(1, std::memory_order_seq_cst);                             // WW.E1 -> E2
    if (sleepers.load(std::memory_order_seq_cst) != 0) futex_wake_all(epoch);  // WW.S2 <- S1
  }
};
static_assert(sizeof(WaitWord) == 64);

/// Waits until done() or `deadline`; between two sleeps calls alive(), which may end the wait. Returns
/// whether done() held at the end.
template <class Done, class Alive>
bool wait_until(WaitWord& word, const WaitPolicy& policy,
                std::optional<std::chrono::steady_clock::time_point> deadline, Done&& done, Alive&& alive) {
  using Clock = std::chrono::steady_clock;
  if (done()) return true;
  const auto start = Clock::now();
  auto now = start;
  while (policy.spin.count() != 0 && now - start < policy.spin) {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      cpu_relax();
    }
    now = Clock::now();
  }
  const auto yield_end = now + policy.yield;
  while (now < yield_end) {
    const auto before = now;
    std::this_thread::yield();
    if (done()) return true;
    now = Clock::now();
    if (deadline && now >= *deadline) return done();
    if (now - before > policy.longest_yield) break;
  }
  for (;;) {
    word.sleepers.fetch_add(1, std::memory_order_seq_cst);         // WW.S1 -> S2
    const auto seen = word.epoch.load(std::memory_order_seq_cst);  // WW.E2 <- E1
    bool over = done();
    if (!over) {
      std::chrono::nanoseconds limit = policy.slice;
      if (deadline && *deadline - now < limit) limit = std::max(std::chrono::nanoseconds{0}, *deadline - now);
      futex_wait(word.epoch, seen, limit);
      over = done();
    }
    word.sleepers.fetch_sub(1, std::memory_order_relaxed);
    if (over) return true;
    now = Clock::now();
    if ((deadline && now >= *deadline) || !alive()) return done();
  }
}

}  // namespace weft::shm
