// SPDX-License-Identifier: BSD-3-Clause
// Wakes a server that sleeps in epoll; costs a client that rings it one load while the server is awake.
//
// I1  The client makes its notice visible before ring(); the server calls asleep() before it checks for
//     notices the last time. The two are seq_cst: either the client sees that the server sleeps, or the
//     server sees the notice.
// I2  At most one client pays the system call: the one whose exchange cleared the flag.
// Crash: a client that dies between the exchange and the wake leaves a server that sleeps although notices
// wait. The death itself wakes the server (the client's socket closes), which then drains every ring.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::shm {

struct alignas(64) Doorbell {
  std::atomic<std::uint32_t> sleeping{0};

  /// Client: after it has stored its notice. True: the server sleeps, and the caller must wake it.
  [[nodiscard]] bool ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // DB.D1 <-> D2
    if (sleeping.load(std::memory_order_relaxed) == 0) return false;
    return sleeping.exchange(0, std::memory_order_relaxed) != 0;  // I2
  }
  /// Server: before it checks the rings the last time; then it may sleep.
  void asleep() noexcept {
    sleeping.store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);  // DB.D2 <-> D1
  }
  void awake() noexcept { sleeping.store(0, std::memory_order_relaxed); }
};
static_assert(sizeof(Doorbell) == 64);

}  // namespace weft::shm
