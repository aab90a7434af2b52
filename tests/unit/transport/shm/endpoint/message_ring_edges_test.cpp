// SPDX-License-Identifier: BSD-3-Clause
#include <deque>

#include "tests/unit/transport/shm/endpoint/rings.hpp"

namespace weft::shm {
namespace {

TEST(MessageRingEdges, empty_gives_nothing) {
  Ring r(256);
  EXPECT_TRUE(r.reader.is_empty());
  const auto count = r.reader.drain(r.into, [](std::uint16_t, const Message&) { ADD_FAILURE(); });
  ASSERT_TRUE(count);
  EXPECT_EQ(*count, 0u);
}

TEST(MessageRingEdges, every_length_at_every_place) {
  Ring r(1024);
  std::uint64_t number = 0;
  for (std::size_t length = 0; length <= r.capacity / 4; ++length) {
    // Steps of odd sizes bring the start of the next message everywhere.
    for (std::size_t step = 0; step < 5; ++step) {
      const Numbered filler(++number, step * 13), asked(++number, length);
      for (const auto* sent : {&filler, &asked}) {
        ASSERT_TRUE(r.writer.push(sent->id, sent->message())) << length;
        const auto count = r.reader.drain(
            r.into, [&](std::uint16_t id, const Message& got) { ASSERT_TRUE(sent->is(id, got)) << length; });
        ASSERT_TRUE(count);
        ASSERT_EQ(*count, 1u);
      }
    }
  }
}

TEST(MessageRingEdges, fills_to_the_last_byte_and_refuses_one_more) {
  Ring r(256);
  const Numbered eight(1, 8);  // 16 bytes in the ring
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(r.writer.push(eight.id, eight.message())) << i;
  for (const std::size_t length : {std::size_t{0}, std::size_t{8}, std::size_t{64}}) {
    const Numbered more(2, length);
    const auto pushed = r.writer.push(more.id, more.message());
    ASSERT_FALSE(pushed);
    EXPECT_EQ(pushed.error().code, Errc::again);
  }
  EXPECT_FALSE(r.writer.has_room_now());
  unsigned seen = 0;
  const auto count =
      r.reader.drain(r.into, [&](std::uint16_t id, const Message& got) { seen += eight.is(id, got); });
  ASSERT_TRUE(count);
  EXPECT_EQ(seen, 16u);
  EXPECT_TRUE(r.writer.has_room_now());
  EXPECT_TRUE(r.writer.push(eight.id, eight.message()));
}

// M3: otherwise a writer could wait for ever for room that its reader cannot make.
TEST(MessageRingEdges, an_empty_ring_takes_the_largest_wherever_it_stands) {
  for (std::uint64_t steps = 0; steps < 128; ++steps) {
    Ring r(1024);
    // Written while another message is in the ring, so that the writer does not go back to the start.
    const Numbered small(3, 0), largest(4, r.capacity / 4);
    ASSERT_TRUE(r.writer.push(small.id, small.message()));
    for (std::uint64_t i = 0; i < steps; ++i) {
      ASSERT_TRUE(r.writer.push(small.id, small.message()));
      if (i % 64 == 63) {
        ASSERT_TRUE(r.reader.drain(r.into, [](std::uint16_t, const Message&) {}));
        ASSERT_TRUE(r.writer.push(small.id, small.message()));
      }
    }
    ASSERT_TRUE(r.reader.drain(r.into, [](std::uint16_t, const Message&) {}));
    ASSERT_TRUE(r.writer.push(largest.id, largest.message())) << steps;
    bool right = false;
    ASSERT_TRUE(
        r.reader.drain(r.into, [&](std::uint16_t id, const Message& got) { right = largest.is(id, got); }));
    EXPECT_TRUE(right) << steps;
  }
}

TEST(MessageRingEdges, a_writer_that_is_read_at_once_stays_at_the_start) {
  Ring r(1 << 16);
  const Numbered sent(5, 100);
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(r.writer.push(sent.id, sent.message()));
    ASSERT_TRUE(
        r.reader.drain(r.into, [&](std::uint16_t id, const Message& got) { ASSERT_TRUE(sent.is(id, got)); }));
  }
  for (std::size_t at = (1 << 16) / 16 + 256; at < (1 << 16); ++at)
    ASSERT_EQ(r.data()[at], std::byte{0}) << at;
}

TEST(MessageRingEdges, against_a_queue) {
  testing::Random random;
  Ring r(4096);
  std::deque<Numbered> model;
  std::uint64_t number = 0;
  for (unsigned step = 0; step < testing::rounds(300'000); ++step) {
    if (random.below(100) < 70) {
      Numbered next(number, length_of(number, r.capacity));
      const auto pushed = r.writer.push(next.id, next.message());
      if (pushed) {
        ++number;
        model.push_back(std::move(next));
      } else {
        ASSERT_EQ(pushed.error().code, Errc::again);
        ASSERT_FALSE(model.empty()) << "full, and nothing is in it";
      }
    } else {
      const auto count = r.reader.drain(r.into, [&](std::uint16_t id, const Message& got) {
        ASSERT_FALSE(model.empty());
        ASSERT_TRUE(model.front().is(id, got));
        model.pop_front();
      });
      ASSERT_TRUE(count);
      ASSERT_TRUE(model.empty());
    }
  }
  EXPECT_GT(number, 1000u);
}

TEST(MessageRingEdges, only_a_writer_that_sleeps_is_rung) {
  Ring r(256);
  EXPECT_FALSE(r.reader.ring());
  r.writer.want_room();
  EXPECT_TRUE(r.reader.ring());
  EXPECT_FALSE(r.reader.ring());
  r.writer.want_room();
  r.writer.have_room();
  EXPECT_FALSE(r.reader.ring());
}

}  // namespace
}  // namespace weft::shm
