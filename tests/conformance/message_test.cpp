// SPDX-License-Identifier: BSD-3-Clause
// Addresses and messages.
#include <algorithm>
#include <cstring>

#include "tests/conformance/fabric.hpp"

namespace weft::conformance {
namespace {

class MessageTest : public Conformance {};
INSTANTIATE_TEST_SUITE_P(On, MessageTest, ::testing::ValuesIn(choices()),
                         [](const auto& choice) { return choice.param.name; });

TEST_P(MessageTest, an_address_survives_packing) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  EXPECT_LE(b->endpoint->address().bytes.size(), Address::max_bytes);
  EXPECT_NE(a->endpoint->address().bytes, b->endpoint->address().bytes);
  const Address copy{std::vector<std::byte>(b->endpoint->address().bytes)};
  auto peer = a->endpoint->reach(copy);
  ASSERT_TRUE(peer);
  Operations& sent = new_operations();
  const auto payload = pattern(40, 1);
  ASSERT_TRUE(send(*a, **peer, 7, {{}, payload}, sent.next(), {a.get(), b.get()}));
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return sent.ended == 1 && b->received_count == 1; }));
  EXPECT_TRUE(sent.errors.empty());
  EXPECT_EQ(b->received[0].id, 7);
  EXPECT_EQ(b->received[0].payload, payload);
}

TEST_P(MessageTest, what_is_no_address_is_refused) {
  const auto a = open();
  ASSERT_TRUE(a);
  for (const std::size_t bytes : {0, 1, 3, 17, 255, 256, 257, 4000}) {
    const auto peer = a->endpoint->reach({pattern(bytes, 3)});
    EXPECT_FALSE(peer) << bytes;
    EXPECT_TRUE(peer || peer.error().code == Errc::corrupt) << bytes;
  }
  auto cut = a->endpoint->address();
  cut.bytes.pop_back();
  EXPECT_FALSE(a->endpoint->reach(cut));
}

TEST_P(MessageTest, every_size_arrives_whole) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  const auto peer = reach(*a, *b);
  const auto& can = a->can();
  EXPECT_GE(can.max_message, 1024u);
  EXPECT_GE(can.max_header, 128u);
  EXPECT_LE(can.max_inline, can.max_message);
  std::vector<std::size_t> sizes{0, 1, 2, 7, 8, 63, 64, 65, 1000, can.max_message - 1, can.max_message};
  for (const std::size_t inline_size : {can.max_inline, can.max_inline + 1})
    if (inline_size <= can.max_message) sizes.push_back(inline_size);
  if (can.max_inline > 0) sizes.push_back(can.max_inline - 1);
  unsigned seed = 0;
  for (const std::size_t size : sizes) {
    for (const std::size_t header : {std::size_t{0}, std::size_t{1}, std::size_t{48}, std::size_t{128}}) {
      if (header > size) continue;
      const auto bytes = pattern(size, ++seed);
      const Message message{Bytes(bytes).first(header), Bytes(bytes).subspan(header)};
      Operations& sent = new_operations();
      b->received.clear();
      const auto before = b->received_count;
      ASSERT_TRUE(send(*a, *peer, static_cast<std::uint16_t>(seed), message, sent.next(), {a.get(), b.get()}))
          << size;
      ASSERT_TRUE(until({a.get(), b.get()}, [&] { return sent.ended == 1 && b->received_count > before; }))
          << size;
      ASSERT_TRUE(sent.errors.empty()) << size;
      EXPECT_EQ(b->received[0].id, seed);
      EXPECT_TRUE(std::equal(message.header.begin(), message.header.end(), b->received[0].header.begin(),
                             b->received[0].header.end()))
          << size << " with a header of " << header;
      EXPECT_TRUE(std::equal(message.payload.begin(), message.payload.end(), b->received[0].payload.begin(),
                             b->received[0].payload.end()))
          << size << " with a header of " << header;
    }
  }
}

TEST_P(MessageTest, a_message_that_is_too_large_is_refused) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  const auto peer = reach(*a, *b);
  const auto bytes = pattern(a->can().max_message + 1, 1);
  Operations& sent = new_operations();
  const auto result = a->endpoint->send(*peer, 1, {{}, bytes}, sent.next());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::invalid);
  EXPECT_EQ(sent.ended, 0u);
}

TEST_P(MessageTest, inline_bytes_are_free_at_once) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  const auto peer = reach(*a, *b);
  auto bytes = pattern(a->can().max_inline, 5);
  const auto right = bytes;
  Operations& sent = new_operations();
  ASSERT_TRUE(send(*a, *peer, 1, {{}, bytes}, sent.next(), {a.get(), b.get()}));
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return sent.ended == 1 && b->received_count == 1; }));
  EXPECT_EQ(b->received[0].payload, right);
}

TEST_P(MessageTest, to_oneself) {
  const auto a = open();
  ASSERT_TRUE(a);
  const auto peer = reach(*a, *a);
  Operations& sent = new_operations();
  const auto bytes = pattern(300, 5);
  ASSERT_TRUE(send(*a, *peer, 9, {{}, bytes}, sent.next(), {a.get()}));
  ASSERT_TRUE(until({a.get()}, [&] { return sent.ended == 1 && a->received_count == 1; }));
  EXPECT_EQ(a->received[0].payload, bytes);
}

TEST_P(MessageTest, order_is_kept_where_it_is_promised) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  WEFT_NEEDS(ordered, *a);
  const auto peer = reach(*a, *b);
  constexpr std::uint32_t count = 2000;
  Operations& sent = new_operations();
  std::vector<std::vector<std::byte>> payloads;
  for (std::uint32_t i = 0; i < count; ++i) {
    payloads.push_back(pattern(4 + i * 37 % 900, i));
    std::memcpy(payloads.back().data(), &i, sizeof i);
    ASSERT_TRUE(send(*a, *peer, 1, {{}, payloads.back()}, sent.next(), {a.get(), b.get()}));
  }
  ASSERT_TRUE(until({a.get(), b.get()}, [&] { return sent.open() == 0 && b->received_count == count; }));
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(b->received[i].payload, payloads[i]) << "message " << i;
}

TEST_P(MessageTest, a_hundred_thousand_under_back_pressure) {
  const auto a = open(), b = open();
  ASSERT_TRUE(a && b);
  const auto there = reach(*a, *b), back = reach(*b, *a);
  a->keeps = b->keeps = false;
  constexpr std::size_t count = 100'000;
  const auto bytes = pattern(100, 1);
  Operations &from_a = new_operations(), &from_b = new_operations();
  for (std::size_t i = 0; i < count / 2; ++i) {
    ASSERT_TRUE(send(*a, *there, 1, {{}, bytes}, from_a.next(), {a.get(), b.get()}));
    ASSERT_TRUE(send(*b, *back, 1, {{}, bytes}, from_b.next(), {a.get(), b.get()}));
  }
  ASSERT_TRUE(until({a.get(), b.get()}, [&] {
    return from_a.open() == 0 && from_b.open() == 0 && a->received_count + b->received_count == count;
  }));
  EXPECT_TRUE(from_a.errors.empty() && from_b.errors.empty());
}

}  // namespace
}  // namespace weft::conformance
