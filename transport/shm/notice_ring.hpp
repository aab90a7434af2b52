// SPDX-License-Identifier: BSD-3-Clause
// A bounded ring in shared memory: one client writes small notices, its server reads them.
//
//   | tail, 1 line (writer) | head, 1 line (reader) | slots |
//
// I1  One writer: the client that owns the ring (its threads share a lock). One reader: the server.
// I2  tail - head <= slots; a slot between head and tail never changes.
// I3  The writer can store anything into tail: a reader never reads more than `slots` entries a call.
// Crash: a writer that dies inside push() has not stored tail: the notice was never sent.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::shm {

struct Notice {
  std::uint32_t kind = 0;
  std::uint32_t arg = 0;
};

class NoticeRing {
 public:
  static constexpr std::uint32_t slots = 16;

  /// Writer only. False: full, nothing stored.
  bool push(Notice notice) noexcept {
    const auto tail = tail_.load(std::memory_order_relaxed);  // only the writer stores it (I1)
    const auto head = head_.load(std::memory_order_acquire);  // NR.H2 <- H1: the slot has been read
    if (tail - head >= slots) return false;
    slots_[tail % slots] = notice;
    tail_.store(tail + 1, std::memory_order_release);  // NR.T1 -> T2: slot first
    return true;
  }

  /// Reader only. Calls visit(notice) for each; returns their number.
  template <class Visit>
  unsigned drain(Visit&& visit) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);    // only the reader stores it (I1)
    auto count = tail_.load(std::memory_order_acquire) - head;  // NR.T2 <- T1
    if (count > slots) count = slots;                           // I3
    for (std::uint32_t i = 0; i < count; ++i) visit(slots_[(head + i) % slots]);
    head_.store(head + count, std::memory_order_release);  // NR.H1 -> H2
    return count;
  }

 private:
  alignas(64) std::atomic<std::uint32_t> tail_{0};
  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::array<Notice, slots> slots_{};
};
static_assert(sizeof(NoticeRing) == 256);

}  // namespace weft::shm
