// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/notice_ring.hpp"

#include <thread>
#include <vector>

#include "tests/unit/transport/shm/testing.hpp"

namespace weft::shm {
namespace {

constexpr auto slots = NoticeRing::slots;

/// The ring with its words in reach: what a client that writes its memory wrong can do.
struct Ring {
  testing::ExactBlock block{sizeof(NoticeRing)};
  NoticeRing& ring = *new (block.get()) NoticeRing;
  std::atomic<std::uint32_t>& tail = *reinterpret_cast<std::atomic<std::uint32_t>*>(block.get());
  std::atomic<std::uint32_t>& head = *reinterpret_cast<std::atomic<std::uint32_t>*>(block.get() + 64);

  std::vector<std::uint32_t> drained() {
    std::vector<std::uint32_t> out;
    ring.drain([&](Notice n) { out.push_back(n.arg); });
    return out;
  }
};

TEST(NoticeRing, empty_gives_nothing) {
  Ring r;
  EXPECT_TRUE(r.drained().empty());
}

TEST(NoticeRing, keeps_order_and_refuses_one_too_many) {
  Ring r;
  std::vector<std::uint32_t> pushed;
  for (std::uint32_t i = 0; i < slots; ++i) {
    EXPECT_TRUE(r.ring.push({1, i}));
    pushed.push_back(i);
  }
  EXPECT_FALSE(r.ring.push({1, 99}));
  EXPECT_EQ(r.drained(), pushed);
  EXPECT_TRUE(r.ring.push({1, 100}));
  EXPECT_EQ(r.drained(), std::vector<std::uint32_t>{100});
}

TEST(NoticeRing, wraps_round_the_slots_and_round_the_counters) {
  Ring r;
  r.tail = r.head = 0xffffffff - 3 * slots;
  for (std::uint32_t i = 0; i < 10 * slots; i += 3) {
    for (std::uint32_t k = 0; k < 3; ++k) ASSERT_TRUE(r.ring.push({2, i + k}));
    ASSERT_EQ(r.drained(), (std::vector<std::uint32_t>{i, i + 1, i + 2}));
  }
  for (std::uint32_t i = 0; i < slots; ++i) EXPECT_TRUE(r.ring.push({1, i}));
  EXPECT_FALSE(r.ring.push({1, slots}));
}

TEST(NoticeRing, a_lying_tail_costs_at_most_one_round) {
  for (const std::uint32_t lie : {1000u, 0xffffffffu, 0x80000000u, slots + 1}) {
    Ring r;
    r.tail = lie;
    unsigned seen = 0;
    EXPECT_EQ(r.ring.drain([&](Notice) { ++seen; }), slots);
    EXPECT_EQ(seen, slots);
  }
}

TEST(NoticeRing, damage_never_leads_outside_nor_on) {
  testing::Watchdog watchdog;
  testing::Random random;
  for (unsigned round = 0; round < testing::rounds(200'000); ++round) {
    Ring r;
    testing::damage(random, r.block.get(), r.block.size());
    for (int call = 0; call < 3; ++call) {
      unsigned seen = 0;
      r.ring.drain([&](Notice) { ++seen; });
      ASSERT_LE(seen, slots);
      (void)r.ring.push({1, 1});
    }
  }
}

// Each notice carries its own check: a reader that runs ahead of the slot's bytes sees it break.
TEST(NoticeRing, one_writer_one_reader_lose_nothing) {
  testing::Watchdog watchdog;
  Ring r;
  std::atomic<std::uint32_t> total{~std::uint32_t{0}};  // once the writer knows it
  std::thread writer([&] {
    const testing::Rounds rounds(2'000'000);
    std::uint32_t i = 0;
    for (; rounds.go_on(i); ++i)
      while (!r.ring.push({i * 2654435761u, i})) std::this_thread::yield();
    total.store(i);
  });
  std::uint32_t next = 0;
  bool whole = true;
  while (next < total.load()) {
    const auto count = r.ring.drain([&](Notice n) {
      whole = whole && n.arg == next && n.kind == next * 2654435761u;
      ++next;
    });
    if (count == 0) std::this_thread::yield();
  }
  writer.join();
  EXPECT_TRUE(whole);
}

}  // namespace
}  // namespace weft::shm
