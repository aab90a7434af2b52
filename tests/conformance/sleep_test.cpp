// SPDX-License-Identifier: BSD-3-Clause
// arm(), then sleep on wait_fd(): no event passes unseen.
#include <poll.h>

#include <algorithm>
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
constexpr auto time_for_rounds = std::chrono::seconds(5);  // fewer will do where a wake-up is slow
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

/// One side of a game that both play asleep, each in its thread.
struct Player {
  Station& station;
  Peer& other;
  std::atomic<bool>& failed;
  Operations& operations;
  std::size_t slept = 0;
  std::minstd_rand random{std::random_device{}()};

  template <class Start>
  bool start(Start&& begin) {
    for (;;) {
      const auto started = begin(operations.next());
      if (started) return true;
      operations.all.pop_back();
      if (started.error().code != Errc::again) return false;
      station.endpoint->progress();
    }
  }
  bool send(std::uint16_t id) {
    return start([&](Completion& c) { return station.endpoint->send(other, id, {{}, {}}, c); });
  }
  /// False: it was not woken.
  template <class Done>
  bool await(Done&& done) {
    while (!done()) {
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
  bool hear(std::size_t count) {
    return await([&] { return station.received_count >= count; });
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
  const auto to_b = reach(*a, *b), to_a = reach(*b, *a);
  a->keeps = false;
  std::atomic<bool> failed{false};
  Player first{*a, *to_b, failed, new_operations()}, second{*b, *to_a, failed, new_operations()};
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

/// b answers every message with a get and a message; a serves the get asleep.
TEST_P(SleepTest, a_get_wakes_its_target_and_its_reader) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  const auto to_b = reach(*a, *b), to_a = reach(*b, *a);
  auto source = pattern(4096, 1);
  std::vector<std::byte> target(source.size());
  const auto exposed = a->endpoint->expose(source), local = b->endpoint->expose(target);
  ASSERT_TRUE(exposed && local);
  const auto key = b->endpoint->import_key(*to_a, (*exposed)->packed_key());
  ASSERT_TRUE(key);
  constexpr std::size_t gets = 200;

  std::atomic<bool> failed{false};
  Player asking{*a, *to_b, failed, new_operations()}, answering{*b, *to_a, failed, new_operations()};
  const auto has_none_open = [](const Player& player) { return player.operations.open() == 0; };
  std::thread other([&] {
    for (std::size_t i = 1; i <= gets && !failed; ++i) {
      const auto read = [&](Completion& c) {
        return b->endpoint->get({**key, 0}, {**local, 0, target.size()}, c);
      };
      if (!answering.hear(i) || !answering.start(read) ||
          !answering.await([&] { return has_none_open(answering); }) || !answering.send(1))
        failed = true;
    }
    if (!answering.await([&] { return has_none_open(answering); })) failed = true;
  });
  for (std::size_t i = 1; i <= gets && !failed; ++i)
    if (!asking.send(1) || !asking.hear(i) || !asking.await([&] { return has_none_open(asking); }))
      failed = true;
  other.join();
  EXPECT_FALSE(failed);
  EXPECT_TRUE(asking.operations.errors.empty() && answering.operations.errors.empty());
  EXPECT_TRUE(source == target);
}

TEST_P(SleepTest, an_endpoint_sleeps_only_without_events) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  Operations& sent = new_operations();
  const auto peer = reach(*a, *b);
  ASSERT_TRUE(send(*a, *peer, 1, {{}, {}}, sent.next(), {a.get(), b.get()}));
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return sent.ended == 1 && b->received_count == 1; }));
  // The stations come to rest: what is left to happen by itself happens.
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

/// Fills a's way to b, then sleeps until there is room again, several times over.
class RoomTest : public SleepTest {
 protected:
  using Start = std::function<Result<void>(Completion&)>;
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;
  static constexpr int times = 5;

  /// The number of operations started before `again`, with b not progressing and a with nothing left to do;
  /// nothing if it never came.
  static std::optional<std::size_t> fill(Station& a, Operations& operations, const Start& start,
                                         std::size_t most) {
    for (std::size_t count = 0; count < most;) {
      if (start(operations.next())) {
        ++count;
        continue;
      }
      operations.all.pop_back();
      bool moved = false;
      while (a.endpoint->progress() != 0) moved = true;
      if (!moved) return count;
    }
    return std::nullopt;
  }

  void sleep_for_room(Station& a, Station& b, Operations& operations, const Start& start, std::size_t each) {
    std::size_t slept = 0, refused = 0;
    ASSERT_TRUE(start(operations.next()));
    ASSERT_TRUE(until({&a, &b}, [&] { return operations.open() == 0; })) << "no connection";
    for (int i = 0; i < times; ++i) {
      if (!fill(a, operations, start, most_bytes / each)) {
        // Let it come to an end in an orderly way.
        EXPECT_TRUE(until({&a, &b}, [&] { return operations.open() == 0; }));
        GTEST_SKIP() << GetParam().name << " never answers `again`";
      }
      Result<void> started = fail(Errc::again);
      const auto starts = [&] {
        started = start(operations.next());
        if (!started) operations.all.pop_back();
        return started || started.error().code != Errc::again;
      };
      ASSERT_TRUE(until({&a, &b}, [&] {
        if (starts()) return true;
        if (const auto armed = a.endpoint->arm(); !armed) {
          EXPECT_EQ(armed.error().code, Errc::again);
          ++refused;
          return false;
        }
        ++slept;
        pollfd waits{*a.endpoint->wait_fd(), POLLIN, 0};
        const bool woke = until({&b}, [&] { return ::poll(&waits, 1, 0) == 1; });
        EXPECT_TRUE(woke) << "room wakes no sleeper";
        return !woke;
      }));
      ASSERT_TRUE(started) << static_cast<int>(started.error().code);
    }
    EXPECT_TRUE(until({&a, &b}, [&] { return operations.open() == 0; }));
    EXPECT_TRUE(operations.errors.empty());
    RecordProperty("slept", static_cast<int>(slept));
    RecordProperty("refused", static_cast<int>(refused));
  }
};
INSTANTIATE_TEST_SUITE_P(On, RoomTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

TEST_P(RoomTest, room_for_messages_wakes_a_sender_that_was_refused) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  b->keeps = false;
  const auto bytes = pattern(std::min<std::size_t>(a->can().max_message, 32 << 10), 1);
  const auto peer = reach(*a, *b);
  Operations& sent = new_operations();
  const auto start = [&](Completion& c) { return a->endpoint->send(*peer, 1, {{}, bytes}, c); };
  sleep_for_room(*a, *b, sent, start, bytes.size());
}

TEST_P(RoomTest, room_for_gets_wakes_a_reader_that_was_refused) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(wait_fd, *a);
  auto source = pattern(std::min<std::size_t>(a->can().max_get, 32 << 10), 1), target = source;
  const auto exposed = b->endpoint->expose(source), local = a->endpoint->expose(target);
  ASSERT_TRUE(exposed && local);
  const auto peer = reach(*a, *b);
  const auto key = a->endpoint->import_key(*peer, (*exposed)->packed_key());
  ASSERT_TRUE(key);
  Operations& gets = new_operations();
  const auto start = [&](Completion& c) {
    return a->endpoint->get({**key, 0}, {**local, 0, source.size()}, c);
  };
  sleep_for_room(*a, *b, gets, start, source.size());
}

}  // namespace
}  // namespace weft::conformance
