// SPDX-License-Identifier: BSD-3-Clause
// Members as threads: what a fence orders is data without any order of its own, so TSan sees a weak link.
#include <thread>
#include <vector>

#include "tests/unit/core/store/boards/boards.hpp"

namespace weft::store {
namespace {

struct alignas(64) Plain {
  std::uint64_t value = 0;
};

// Sleeping at once, too: most wakes are needed then. Slices of a minute: a wake that is not given is never
// made up for.
const shm::WaitPolicy policies[] = {shm::WaitPolicy::for_waiters(64, 2),
                                    {.spin = std::chrono::microseconds{0},
                                     .yield = std::chrono::microseconds{0},
                                     .slice = std::chrono::milliseconds{60'000}}};

TEST(BoardThreads, a_fence_orders_what_was_written_before_it) {
  testing::Watchdog watchdog;
  constexpr std::uint32_t members = 4;
  const Generation total = testing::rounds(10'000);
  for (const auto& policy : policies) {
    ExactBoard b(members, false, 0xffffffff - total / 2);  // across the turn of the counter
    std::vector<Plain> data(members);
    std::atomic<unsigned> faults{0};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < members; ++me)
      threads.emplace_back([&, me] {
        Generation g = b.board.open_generation();
        for (std::uint64_t round = 1; round <= total / 2; ++round) {
          data[me].value = round;
          if (enter(b.board, me, g++, policy) != 0) ++faults;
          for (const auto& other : data)
            if (other.value != round) ++faults;
          if (enter(b.board, me, g++, policy) != 0) ++faults;
        }
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(faults.load(), 0u);
    EXPECT_EQ(b.board.waiting().sleepers.load(), 0u);
  }
}

// Where other nodes take part the server completes: it must see what members wrote before they arrived, and
// they what it wrote before it completed.
TEST(BoardThreads, the_server_stands_between_arrival_and_release) {
  testing::Watchdog watchdog;
  constexpr std::uint32_t members = 3;
  const Generation total = testing::rounds(10'000);
  for (const auto& policy : policies) {
    ExactBoard b(members, true);
    std::vector<Plain> data(members);
    Plain collected;
    std::atomic<unsigned> faults{0};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < members; ++me)
      threads.emplace_back([&, me] {
        for (Generation g = 1; g <= total; ++g) {
          data[me].value = g;
          if (enter(b.board, me, g, policy) != 0) ++faults;
          if (collected.value != std::uint64_t{g} * members) ++faults;
        }
      });
    for (Generation g = 1; g <= total; ++g) {
      while (b.board.arrived_count() != members || b.board.open_generation() != g) std::this_thread::yield();
      std::uint64_t sum = 0;
      for (std::uint32_t me = 0; me < members; ++me) {
        if (!b.board.arrived(me, g)) ++faults;  // each member that is counted is named
        sum += data[me].value;
      }
      collected.value = sum;
      if (!b.board.complete(g)) ++faults;
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(faults.load(), 0u);
  }
}

// A server that ends generations while members run for the last place: one CAS decides, so all read the same
// end, and the verdict of a failed one is whole.
TEST(BoardThreads, aborts_and_completions_are_the_same_for_all) {
  testing::Watchdog watchdog;
  testing::Random random;
  constexpr std::uint32_t members = 3;
  const Generation total = testing::rounds(20'000);
  ExactBoard b(members);
  std::vector<std::vector<std::int32_t>> ends(members);
  std::atomic<bool> done{false};
  std::atomic<unsigned> blames{0};
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < members; ++me)
    threads.emplace_back([&, me] {
      for (Generation g = 1; g <= total; ++g) {
        ends[me].push_back(enter(b.board, me, g, policies[0]));
        // The slot of a verdict is used again by an abort of the generation 16 later, which begins while that
        // one is open.
        if (ends[me].back() == forgotten && b.board.open_generation() - g < 16) ++blames;
        const auto verdict = b.board.verdict(g);
        if (verdict.status != forgotten && verdict.status != -static_cast<std::int32_t>(verdict.member))
          ++blames;
      }
      done.store(true);
    });
  unsigned aborted = 0;
  while (!done.load()) {
    const auto g = b.board.open_generation();
    const auto status = static_cast<std::int32_t>(2 + random.below(1000));
    if (b.board.arrived_count() != 0 && random.below(4) == 0)
      aborted += b.board.abort(g, {-status, static_cast<std::uint32_t>(status)});
    std::this_thread::yield();
  }
  for (auto& thread : threads) thread.join();
  unsigned failed = 0;
  for (Generation g = 0; g < total; ++g) {
    failed += ends[0][g] != 0;
    for (std::uint32_t me = 1; me < members; ++me) {
      ASSERT_EQ(ends[me][g] == 0, ends[0][g] == 0) << g;
      ASSERT_TRUE(ends[me][g] == ends[0][g] || ends[me][g] == forgotten || ends[0][g] == forgotten) << g;
    }
  }
  EXPECT_EQ(blames.load(), 0u);
  EXPECT_EQ(failed, aborted);
  EXPECT_GT(aborted, 0u);
  RecordProperty("aborted", static_cast<int>(aborted));
}

// A member that arrived is lost while the last of the others arrives: either all were in time or none was.
TEST(BoardThreads, a_loss_at_the_last_moment_is_the_same_for_all) {
  testing::Watchdog watchdog;
  testing::Random random;
  const std::uint32_t total = testing::rounds(10'000);
  ExactBoard b(3);
  std::atomic<std::uint32_t> round{0}, back{0};
  std::atomic<Generation> generation{0};
  std::int32_t ends[3] = {};
  std::vector<std::thread> survivors;
  for (std::uint32_t me = 1; me < 3; ++me)
    survivors.emplace_back([&, me] {
      for (std::uint32_t r = 1; r <= total; ++r) {
        while (round.load(std::memory_order_acquire) != r) std::this_thread::yield();
        ends[me] = enter(b.board, me, generation.load(std::memory_order_relaxed), policies[0]);
        back.fetch_add(1, std::memory_order_release);
      }
    });
  unsigned in_time = 0;
  for (std::uint32_t r = 1; r <= total; ++r) {
    const auto g = b.board.open_generation();
    generation.store(g, std::memory_order_relaxed);
    ASSERT_EQ(b.board.arrive(0, g), Board::Arrival::waiting);
    round.store(r, std::memory_order_release);
    // Close to the last arrival, on either side of it; patience is short, because the others may need this
    // core.
    for (int looks = 0; b.board.arrived_count() < 2 && b.board.open_generation() == g; ++looks)
      looks < 500 ? shm::cpu_relax() : std::this_thread::yield();
    for (auto spins = random.below(10); spins != 0; --spins) shm::cpu_relax();
    b.board.lose(0, -7);
    while (back.load(std::memory_order_acquire) != 2 * r) std::this_thread::yield();
    ASSERT_EQ(ends[1], ends[2]) << g;
    in_time += ends[1] == 0;
    b.board.rejoin(0);
  }
  for (auto& survivor : survivors) survivor.join();
  RecordProperty("in_time", static_cast<int>(in_time));
}

// Sleeping for a minute at a time, the members depend on the wake by the thread that ended the generation.
TEST(BoardThreads, every_end_wakes_all_sleepers) {
  testing::Watchdog watchdog;
  ExactBoard b(2);
  std::atomic<Generation> go{0}, over{0};
  constexpr Generation total = 300;
  std::thread sleeper([&] {
    for (Generation g = 1; g <= total; ++g) {
      while (go.load() != g) std::this_thread::yield();
      (void)enter(b.board, 0, g, policies[1]);
      over.store(g);
    }
  });
  for (Generation g = 1; g <= total; ++g) {
    go.store(g);
    while (b.board.waiting().sleepers.load() == 0) std::this_thread::yield();
    switch (g % 3) {
      case 0:
        ASSERT_EQ(enter(b.board, 1, g, policies[0]), 0);
        break;
      case 1:
        ASSERT_TRUE(b.board.abort(g, {-24, 1}));
        break;
      default:
        b.board.lose(1, -7);
        break;
    }
    while (over.load() != g) std::this_thread::yield();
    b.board.rejoin(1);
  }
  sleeper.join();
}

// One member stops at a random generation without arriving, or right after it; the server is told.
TEST(BoardThreads, a_loss_ends_the_same_generation_for_all_survivors) {
  testing::Watchdog watchdog;
  testing::Random random;
  constexpr std::uint32_t members = 3;
  const testing::Rounds rounds(300);
  for (unsigned round = 0; rounds.go_on(round, 1); ++round) {
    ExactBoard b(members);
    const auto last = static_cast<Generation>(1 + random.below(30));
    const bool arrives = random.below(2) == 0;
    std::atomic<bool> gone{false};
    Generation good[members] = {};
    std::vector<std::thread> threads;
    for (std::uint32_t me = 0; me < members; ++me)
      threads.emplace_back([&, me] {
        for (Generation g = 1;; ++g) {
          if (me == 0 && g == last) {
            if (arrives && b.board.arrive(me, g) == Board::Arrival::completed) b.board.waiting().wake_all();
            return gone.store(true, std::memory_order_release);
          }
          if (enter(b.board, me, g, policies[round % 2]) != 0) return;
          good[me] = g;
        }
      });
    while (!gone.load(std::memory_order_acquire)) std::this_thread::yield();
    b.board.lose(0, -7);
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(good[1], good[2]);
    ASSERT_TRUE(good[1] == last - 1 || (arrives && good[1] == last));
  }
}

// The member that ends a generation either sees the wish or ended it before the wisher's last look: a wish
// that falls between the two leaves the wisher waiting, and the watchdog ends the test.
TEST(BoardThreads, a_wish_before_the_last_look_is_never_overlooked) {
  testing::Watchdog watchdog;
  ExactBoard b(1);
  const Generation total = testing::rounds(100'000);
  std::atomic<Generation> told{0}, ended{0}, answered{0};
  const auto wait_for = [](const std::atomic<Generation>& word, Generation g) {
    while (word.load(std::memory_order_acquire) != g) std::this_thread::yield();
  };
  unsigned wishes = 0;
  std::thread wisher([&] {
    for (Generation g = 1; g <= total; ++g) {
      b.board.ask_notice(0);
      if (b.board.outcome(g) == Board::Outcome::open) {
        wait_for(told, g);
        ++wishes;
      }
      wait_for(ended, g);
      (void)b.board.take_notice(0);
      answered.store(g, std::memory_order_release);
    }
  });
  for (Generation g = 1; g <= total; ++g) {
    if (b.board.arrive(0, g) != Board::Arrival::completed) std::abort();
    if (b.board.notice_wanted() && b.board.take_notice(0)) told.store(g, std::memory_order_release);
    ended.store(g, std::memory_order_release);
    wait_for(answered, g);
  }
  wisher.join();
  EXPECT_FALSE(b.board.notice_wanted());
  RecordProperty("wishes", static_cast<int>(wishes));
}

}  // namespace
}  // namespace weft::store
