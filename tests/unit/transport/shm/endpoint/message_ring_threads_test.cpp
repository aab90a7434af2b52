// SPDX-License-Identifier: BSD-3-Clause
// One writer and one reader in one process: where TSan sees an order that is too weak.
#include <thread>

#include "tests/unit/transport/shm/endpoint/rings.hpp"

namespace weft::shm {
namespace {

TEST(MessageRingThreads, nothing_is_lost_torn_or_out_of_order) {
  testing::Watchdog watchdog;
  for (const std::uint64_t capacity : {std::uint64_t{128}, std::uint64_t{4096}, std::uint64_t{1} << 16}) {
    Ring r(capacity);
    std::atomic<std::uint64_t> total{~std::uint64_t{0}};  // once the writer knows it
    std::thread writer([&] {
      const testing::Rounds rounds(300'000);
      std::uint32_t number = 0;
      for (; rounds.go_on(number); ++number) {
        const Numbered next(number, length_of(number, capacity));
        while (!r.writer.push(next.id, next.message())) std::this_thread::yield();
      }
      total.store(number);
    });
    std::uint64_t next = 0, wrong = 0;
    while (next < total.load()) {
      const auto count = r.reader.drain(r.into, [&](std::uint16_t id, const Message& got) {
        wrong += !Numbered(next, length_of(next, capacity)).is(id, got);
        ++next;
      });
      if (!count) {
        ++wrong;
        break;
      }
      if (*count == 0) std::this_thread::yield();
    }
    ASSERT_EQ(wrong, 0u) << capacity;
    writer.join();
  }
}

// M5: a writer that found the ring full sleeps until it is rung; no ring is lost.
TEST(MessageRingThreads, a_writer_that_sleeps_for_room_is_rung) {
  testing::Watchdog watchdog;
  Ring r(128);
  std::atomic<std::uint64_t> total{~std::uint64_t{0}};  // once the writer knows it
  std::atomic<std::uint32_t> rings{0};
  std::uint64_t slept = 0;
  std::thread writer([&] {
    const testing::Rounds rounds(200'000);
    std::uint32_t heard = 0, number = 0;
    for (; rounds.go_on(number); ++number) {
      const Numbered next(number, 24);
      while (!r.writer.push(next.id, next.message())) {
        r.writer.want_room();
        if (!r.writer.has_room_now()) {
          ++slept;
          rings.wait(heard, std::memory_order_acquire);
        }
        r.writer.have_room();
        heard = rings.load(std::memory_order_acquire);
      }
    }
    total.store(number);
  });
  for (std::uint64_t next = 0; next < total.load();) {
    const auto count = r.reader.drain(r.into, [&](std::uint16_t, const Message&) { ++next; });
    if (r.reader.ring()) {
      rings.fetch_add(1, std::memory_order_release);
      rings.notify_one();
    }
    if (count.value_or(0) == 0) std::this_thread::yield();
  }
  writer.join();
  EXPECT_GT(slept, 0u);
}

}  // namespace
}  // namespace weft::shm
