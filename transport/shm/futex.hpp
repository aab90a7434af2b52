// SPDX-License-Identifier: BSD-3-Clause
// Sleeping on a word that several processes share.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace weft::shm {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(sizeof(FutexWord) == 4 && FutexWord::is_always_lock_free);

/// Sleeps while `word` holds `seen`, at most `limit`. May return early: the caller checks its condition
/// again.
inline void futex_wait(const FutexWord& word, std::uint32_t seen, std::chrono::nanoseconds limit) noexcept {
  const timespec for_at_most{static_cast<time_t>(limit.count() / 1'000'000'000),
                             static_cast<long>(limit.count() % 1'000'000'000)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &for_at_most, nullptr, 0);
}

inline void futex_wake_all(FutexWord& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace weft::shm
