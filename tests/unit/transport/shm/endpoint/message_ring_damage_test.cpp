// SPDX-License-Identifier: BSD-3-Clause
// Bytes written wrong by the other side: an error at worst, never a step outside nor a loop without an end.
#include "tests/unit/transport/shm/endpoint/rings.hpp"

namespace weft::shm {
namespace {

constexpr std::uint64_t capacity = 512;

/// A ring that was used, and holds a few messages.
void use(Ring& r, testing::Random& random) {
  const auto push = [&](std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const Numbered next(i, random.below(capacity / 4 + 1));
      (void)r.writer.push(next.id, next.message());
    }
  };
  push(random.below(20));
  (void)r.reader.drain(r.into, [](std::uint16_t, const Message&) {});
  push(random.below(20));
}

TEST(MessageRingDamage, a_reader_stays_inside) {
  testing::Watchdog watchdog;
  testing::Random random;
  unsigned refused = 0;
  for (unsigned round = 0; round < testing::rounds(300'000); ++round) {
    Ring r(capacity);
    use(r, random);
    testing::damage(random, r.block.get(), r.block.size());
    for (int call = 0; call < 3; ++call) {
      std::size_t seen = 0;
      const auto count = r.reader.drain(r.into, [&](std::uint16_t, const Message& got) {
        ++seen;
        ASSERT_LE(got.header.size() + got.payload.size(), capacity / 4);
      });
      ASSERT_LE(seen, capacity / 8);
      if (!count) {
        ASSERT_EQ(count.error().code, Errc::corrupt);
        ++refused;
        break;
      }
      const Numbered next(1, 20);
      (void)r.writer.push(next.id, next.message());
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST(MessageRingDamage, a_writer_stays_inside) {
  testing::Watchdog watchdog;
  testing::Random random;
  unsigned refused = 0;
  for (unsigned round = 0; round < testing::rounds(300'000); ++round) {
    Ring r(capacity);
    use(r, random);
    testing::damage(random, r.block.get(), sizeof(RingHeader));
    for (std::uint64_t i = 0; i < 100; ++i) {
      const Numbered next(i, random.below(capacity / 4 + 1));
      const auto pushed = r.writer.push(next.id, next.message());
      if (pushed) continue;
      ASSERT_TRUE(pushed.error().code == Errc::again || pushed.error().code == Errc::corrupt);
      refused += pushed.error().code == Errc::corrupt;
      break;
    }
  }
  EXPECT_GT(refused, 0u);
}

/// Every way in which a message's own words can lie.
TEST(MessageRingDamage, lying_lengths_are_corrupt) {
  struct Lie {
    std::uint32_t length;
    std::uint16_t header;
    std::uint64_t tail;
  };
  const Lie lies[] = {
      {9, 0, 16},                       // longer than what was written
      {8, 9, 16},                       // a header longer than the message
      {capacity / 4 + 1, 0, capacity},  // longer than any message may be
      {0xfffffff0, 0, 16},              // so long that padding it wraps
      {0xfffffffe, 0, capacity},        //
      {RingHeader::skip, 0, 16},        // a skip beyond what was written
      {8, 0, capacity + 8},             // more than the ring holds
      {8, 0, 12},                       // not a multiple of 8
      {8, 0, ~std::uint64_t{7}},        // behind the reader
  };
  for (const auto& lie : lies) {
    Ring r(capacity);
    const RingHeader::Record record{lie.length, lie.header, 1};
    std::memcpy(r.data(), &record, sizeof record);
    r.header.tail = lie.tail;
    const auto count = r.reader.drain(r.into, [](std::uint16_t, const Message&) { ADD_FAILURE(); });
    ASSERT_FALSE(count) << lie.length << " " << lie.tail;
    EXPECT_EQ(count.error().code, Errc::corrupt);
  }
  Ring r(capacity);
  const RingHeader::Record skip{RingHeader::skip, 0, 0};
  std::memcpy(r.data(), &skip, sizeof skip);
  r.header.tail = capacity;
  const auto count = r.reader.drain(r.into, [](std::uint16_t, const Message&) { ADD_FAILURE(); });
  ASSERT_TRUE(count) << "a skip of the whole ring is odd, and harmless";
  EXPECT_EQ(*count, 0u);
}

}  // namespace
}  // namespace weft::shm
