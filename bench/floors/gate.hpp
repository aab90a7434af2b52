// SPDX-License-Identifier: BSD-3-Clause
// A gate for processes of one machine, in shared memory: a counter, a generation and the futex call.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace weft::bench {

struct Gate {
  alignas(64) std::atomic<std::uint32_t> arrived{0};
  alignas(64) std::atomic<std::uint32_t> generation{0};
};

inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, nullptr, nullptr, 0);
}
inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

/// True in the last process to arrive, which has to open the gate.
inline bool last_to_arrive(Gate& gate, std::uint32_t n) {
  if (gate.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != n) return false;
  gate.arrived.store(0, std::memory_order_relaxed);  // ordered before the next round by `generation`
  return true;
}

/// Sleeps at once, until the word is another than `seen`.
inline void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  while (word.load(std::memory_order_acquire) == seen) futex_wait(word, seen);
}

}  // namespace weft::bench
