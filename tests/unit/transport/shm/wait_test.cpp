// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/wait.hpp"

#include <sched.h>

#include <thread>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::shm {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr WaitPolicy sleep_at_once{.spin = 0us, .yield = 0us, .slice = 60'000ms};
constexpr auto forever = std::nullopt;
bool yes() {
  return true;
}

TEST(WaitUntil, a_true_condition_returns_without_asking) {
  WaitWord word;
  bool asked = false;
  EXPECT_TRUE(wait_until(word, WaitPolicy{}, Clock::now() - 1s, yes, [&] { return asked = true; }));
  EXPECT_FALSE(asked);
  EXPECT_EQ(word.sleepers.load(), 0u);
}

TEST(WaitUntil, a_deadline_ends_every_phase) {
  testing::Watchdog watchdog;
  const WaitPolicy policies[] = {sleep_at_once,
                                 {.spin = 50us, .yield = 2ms, .slice = 60'000ms},
                                 {.spin = 0us, .yield = 10s, .slice = 1ms}};
  for (const auto& policy : policies) {
    WaitWord word;
    const auto start = Clock::now();
    EXPECT_FALSE(wait_until(
        word, policy, start + 20ms, [] { return false; }, yes));
    EXPECT_GE(Clock::now() - start, 20ms);
    EXPECT_EQ(word.sleepers.load(), 0u);
  }
}

TEST(WaitUntil, a_passed_deadline_still_looks_once) {
  testing::Watchdog watchdog;
  WaitWord word;
  EXPECT_FALSE(wait_until(
      word, sleep_at_once, Clock::now() - 1h, [] { return false; }, yes));
  int looks = 0;
  EXPECT_TRUE(wait_until(
      word, sleep_at_once, Clock::now() - 1h, [&] { return ++looks > 1; }, yes));
}

TEST(WaitUntil, ends_when_no_process_is_left_to_wake_it) {
  testing::Watchdog watchdog;
  WaitWord word;
  WaitPolicy policy = sleep_at_once;
  policy.slice = 1ms;
  int asked = 0;
  EXPECT_FALSE(wait_until(
      word, policy, forever, [] { return false; }, [&] { return ++asked < 3; }));
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(word.sleepers.load(), 0u);
}

// A waker that died between its change and its wake: the slice finds it.
TEST(WaitUntil, a_silent_change_is_seen_after_a_slice) {
  testing::Watchdog watchdog;
  WaitWord word;
  WaitPolicy policy = sleep_at_once;
  policy.slice = 1ms;
  std::atomic<bool> changed{false};
  std::thread silent([&] {
    while (word.sleepers.load() == 0) std::this_thread::yield();
    changed.store(true);
  });
  EXPECT_TRUE(wait_until(
      word, policy, forever, [&] { return changed.load(); }, yes));
  silent.join();
}

TEST(WaitWord, a_wake_without_sleepers_only_counts) {
  WaitWord word;
  word.wake_all();
  EXPECT_EQ(word.epoch.load(), 1u);
}

// Slices of a minute: one lost wake and the watchdog ends the test. The plain number shows TSan that the
// word's own orders carry data.
TEST(WaitUntil, no_wake_is_lost) {
  testing::Watchdog watchdog;
  WaitWord ping, pong;
  std::atomic<std::uint32_t> turn{0};
  std::uint32_t plain = 0;
  const testing::Rounds rounds(100'000);
  std::atomic<bool> is_last{false};
  std::thread other([&] {
    for (std::uint32_t i = 0;; ++i) {
      wait_until(
          ping, sleep_at_once, forever, [&] { return turn.load(std::memory_order_acquire) == 2 * i + 1; },
          yes);
      ++plain;
      const bool ends = is_last.load();
      turn.store(2 * i + 2, std::memory_order_release);
      pong.wake_all();
      if (ends) break;
    }
  });
  std::uint32_t total = 0;
  for (std::uint32_t i = 0; total == 0; ++i) {
    if (!rounds.go_on(i + 1)) is_last.store(true), total = i + 1;
    ++plain;
    turn.store(2 * i + 1, std::memory_order_release);
    ping.wake_all();
    wait_until(
        pong, sleep_at_once, forever, [&] { return turn.load(std::memory_order_acquire) == 2 * i + 2; }, yes);
  }
  other.join();
  EXPECT_EQ(plain, 2 * total);
}

TEST(WaitUntil, wakes_all_sleepers) {
  testing::Watchdog watchdog;
  constexpr unsigned waiters = 5;
  WaitWord word;
  std::atomic<std::uint32_t> round{0}, back{0};
  const testing::Rounds rounds(3'000);
  std::atomic<bool> is_last{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < waiters; ++t)
    threads.emplace_back([&] {
      for (std::uint32_t i = 1;; ++i) {
        wait_until(
            word, sleep_at_once, forever, [&] { return round.load() >= i; }, yes);
        const bool ends = is_last.load();
        back.fetch_add(1);
        if (ends) break;
      }
    });
  for (std::uint32_t i = 1; !is_last.load(); ++i) {
    is_last.store(!rounds.go_on(i));
    round.store(i);
    word.wake_all();
    while (back.load() < i * waiters) std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(word.sleepers.load(), 0u);
}

TEST(WaitUntil, wakes_across_processes) {
  testing::Watchdog watchdog;
  testing::SharedBlock block(4096);
  auto& word = *new (block.get()) WaitWord;
  auto& turn = *new (block.get() + 64) std::atomic<std::uint32_t>(0);
  auto& is_last = *new (block.get() + 128) std::atomic<bool>(false);
  const testing::Rounds rounds(10'000);
  const auto child = testing::start_child([&] {
    for (std::uint32_t i = 1;; i += 2) {
      wait_until(
          word, sleep_at_once, forever, [&] { return turn.load() == i; }, yes);
      const bool ends = is_last.load();
      turn.store(i + 1);
      word.wake_all();
      if (ends) break;
    }
    return true;
  });
  for (std::uint32_t i = 0; !is_last.load(); i += 2) {
    is_last.store(!rounds.go_on(i + 2));
    turn.store(i + 1);
    word.wake_all();
    wait_until(
        word, sleep_at_once, forever, [&] { return turn.load() == i + 2; }, yes);
  }
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

TEST(WaitPolicy, spins_only_where_every_waiter_has_a_core) {
  const auto cores = usable_cores();
  EXPECT_GT(WaitPolicy::for_waiters(1, 4).spin.count(), 0);
  EXPECT_GT(WaitPolicy::for_waiters(cores, cores).spin.count(), 0);
  EXPECT_EQ(WaitPolicy::for_waiters(cores + 1, cores).spin.count(), 0);
  EXPECT_EQ(WaitPolicy::at_once().spin.count() + WaitPolicy::at_once().yield.count(), 0);
}

TEST(WaitPolicy, counts_the_cores_it_may_use) {
  const auto child = testing::start_child([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    return ::sched_setaffinity(0, sizeof one, &one) == 0 && usable_cores() == 1 &&
           WaitPolicy::for_waiters(2, usable_cores()).spin.count() == 0;
  });
  EXPECT_TRUE(testing::ended_well(testing::reap(child)));
}

}  // namespace
}  // namespace weft::shm
