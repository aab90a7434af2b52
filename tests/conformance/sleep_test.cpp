// SPDX-License-Identifier: BSD-3-Clause
// arm(), then sleep on wait_fd(): no event passes unseen.
#include <poll.h>

#include <atomic>
#include <random>
#include <thread>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t rounds = 10'000;
#else
constexpr std::size_t rounds = 100'000;
#endif
constexpr auto time_for_rounds = std::chrono::seconds(15);  // fewer will do where a wake-up is slow
constexpr int a_lost_wake_up_ms = 10'000;

class SleepTest : public Conformance {};
INSTANTIATE_TEST_SUITE_P(On, SleepTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

enum class Slept { yes, no, never_woke };

/// Sleeps until something may have happened.
Slept sleep(Endpoint& endpoint, int limit_ms = a_lost_wake_up_ms) {
  if (const auto armed = endpoint.arm(); !armed)
    return armed.error().code == Errc::again ? Slept::no : Slept::never_woke;
  pollfd waits{*endpoint.wait_fd(), POLLIN, 0};
  int count;
  do {
    count = ::poll(&waits, 1, limit_ms);
  } while (count < 0 && errno == EINTR);
  return count == 1 ? Slept::yes : Slept::never_woke;
}

struct Player {
  Station& station;
  Peer& other;
  std::atomic<bool>& failed;
  Operations& operations;  ///< of the test: they outlive the peers, also when it fails
  std::size_t slept = 0;
  std::minstd_rand random{std::random_device{}()};

  bool send(std::uint16_t id) {
    for (;;) {
      const auto sent = station.endpoint->send(other, id, {{}, {}}, operations.next());
      if (sent) return true;
      operations.all.pop_back();
      if (sent.error().code != Errc::again) return false;
      station.endpoint->progress();
    }
  }
  bool hear(std::size_t count) {
    while (station.received_count < count) {
      if (failed) return false;
      if (station.endpoint->progress() != 0) continue;
      // Dawdling now and then: what comes between the last progress() and arm() must not be slept through.
      if (random() % 4 == 0)
        for (auto steps = random() % 20'000; steps != 0; --steps)
          std::atomic_signal_fence(std::memory_order_seq_cst);
      const auto outcome = sleep(*station.endpoint);
      slept += outcome == Slept::yes;
      if (outcome == Slept::never_woke) return false;
    }
    return true;
  }
  std::size_t play(bool begins) {
    const auto deadline = std::chrono::steady_clock::now() + time_for_rounds;
    constexpr std::uint16_t id_last = 9;
    std::size_t round = 0;
    for (bool ends = false; !ends && !failed; ++round) {
      if (operations.all.size() > 1000 && operations.open() == 0) {
        operations.all.clear();
        operations.ended = 0;
      }
      if (begins) {
        ends = round + 1 == rounds || (round % 256 == 0 && std::chrono::steady_clock::now() > deadline);
        if (!send(ends ? id_last : 1) || !hear(round + 1)) failed = true;
      } else {
        if (!hear(round + 1)) failed = true;
        ends = !station.received.empty() && station.received.back().id == id_last;
        station.received.clear();
        if (!send(1)) failed = true;
      }
    }
    while (operations.open() != 0 && !failed) station.endpoint->progress();
    return round;
  }
};

TEST_P(SleepTest, no_wake_up_is_lost) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  Operations of_a, of_b;
  const auto to_b = reach(*a, *b), to_a = reach(*b, *a);
  a->keeps = false;
  std::atomic<bool> failed{false};
  Player first{*a, *to_b, failed, of_a}, second{*b, *to_a, failed, of_b};
  std::size_t answered = 0;
  std::thread other([&] { answered = second.play(false); });
  const auto played = first.play(true);
  other.join();
  EXPECT_FALSE(failed) << "after " << played << " and " << answered << " rounds";
  EXPECT_EQ(played, answered);
  EXPECT_GT(first.slept + second.slept, 0u);
  RecordProperty("rounds", static_cast<int>(played));
  RecordProperty("slept", static_cast<int>(first.slept + second.slept));
}

TEST_P(SleepTest, who_has_events_does_not_sleep_and_who_has_none_does) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  Operations sent;
  const auto peer = reach(*a, *b);
  ASSERT_TRUE(send(*a, *peer, 1, {{}, {}}, sent.next(), {a.get(), b.get()}));
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return sent.ended == 1 && b->received_count == 1; }));
  // Both come to rest: what is left to happen by itself happens.
  for (Station* station : {a.get(), b.get()}) {
    const bool rested =
        until({a.get(), b.get()}, [&] { return sleep(*station->endpoint, 20) == Slept::never_woke; });
    EXPECT_TRUE(rested);
  }
  ASSERT_TRUE(b->endpoint->arm());
  ASSERT_TRUE(send(*a, *peer, 1, {{}, {}}, sent.next(), {a.get()}));
  pollfd waits{*b->endpoint->wait_fd(), POLLIN, 0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (::poll(&waits, 1, 0) == 0 && std::chrono::steady_clock::now() < deadline) a->endpoint->progress();
  EXPECT_EQ(::poll(&waits, 1, 0), 1);
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return b->received_count == 2 && sent.ended == 2; }));
}

}  // namespace
}  // namespace weft::conformance
