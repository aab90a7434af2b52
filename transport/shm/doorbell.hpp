// SPDX-License-Identifier: BSD-3-Clause
// Wakes a server that sleeps in epoll; costs those who ring it one load while it is awake.
//
// I1  The ringer makes its notice visible before ring(); the server says asleep() before it looks for notices
//     the last time. Both are seq_cst: either the ringer sees the sleeper or the sleeper sees the notice.
// I2  At most one ringer pays the system call: the one whose exchange took the flag.
// Crash: a ringer that dies between exchange and waking leaves a server that sleeps although notices wait. The
//     death itself wakes the server (its socket closes), which then drains every ring.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::shm {

struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleeping{0};

  /// Client: after the notice is in its ring. True: the server sleeps, and it is the caller who has to wake it.
  [[nodiscard]] bool ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // D1 <-> D2
    if (sleeping.load(std::memory_order_relaxed) == 0) return false;
    return sleeping.exchange(0, std::memory_order_relaxed) != 0;  // I2
  }
  /// Server: before its last look at the rings; then it may sleep.
  void asleep() noexcept {
    sleeping.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // D2 <-> D1
  }
  void awake() noexcept { sleeping.store(0, std::memory_order_relaxed); }
};
static_assert(sizeof(Doorbell) == 64);

}  // namespace weft::shm
