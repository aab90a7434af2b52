// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/difference.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/store/cards/varint.hpp"
#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

/// The bytes of the difference.
std::size_t there_and_back(std::string_view value, std::string_view base) {
  std::vector<std::byte> room(value.size() + 32);
  const auto bytes = write_difference(bytes_of(value), bytes_of(base), room);
  EXPECT_NE(bytes, 0u) << value;
  WholeValue whole;
  const auto back = apply_difference({room.data(), bytes}, bytes_of(base), whole);
  EXPECT_TRUE(back) << value;
  EXPECT_EQ(back ? std::string(as_text(*back)) : std::string("-"), value);
  return bytes;
}

TEST(Difference, of_equal_values_is_a_few_bytes) {
  EXPECT_EQ(there_and_back("", ""), 1u);
  EXPECT_EQ(there_and_back("x", "x"), 3u);
  EXPECT_EQ(there_and_back(std::string(100, 'x'), std::string(100, 'x')), 3u);
  EXPECT_EQ(there_and_back(std::string(1000, 'x'), std::string(1000, 'x')), 5u);
}

TEST(Difference, has_what_is_different) {
  EXPECT_EQ(there_and_back("eth0 10.0.0.1:1234 is up", "eth0 10.0.0.1:9999 is up"), 3u + 4u + 2u);
  // Two places.
  EXPECT_EQ(there_and_back("0123456789AAAA0123456789BBBB01234567", "0123456789aaaa0123456789bbbb01234567"),
            3u + 4u + 2u + 4u + 2u);
  EXPECT_EQ(there_and_back("xxxx", ""), 1u + 2u + 4u);
  EXPECT_EQ(there_and_back("", "xxxx"), 1u);
  // Another length: what is at the front and at the end.
  EXPECT_EQ(there_and_back("port=65535,mtu=4096", "port=1,mtu=4096"), 3u + 5u + 2u);
  EXPECT_EQ(there_and_back("port=1,mtu=4096", "port=65535,mtu=4096"), 3u + 1u + 2u);
  EXPECT_EQ(there_and_back("mtu=4096", "port=1,mtu=4096"), 3u + 2u);
  EXPECT_EQ(there_and_back("aaaa", "aaaaaaaa"), 3u);
}

TEST(Difference, of_any_two_values) {
  testing::Random random;
  for (unsigned round = 0; round < testing::rounds(20'000); ++round) {
    const auto some = [&](std::size_t bytes) {
      std::string out(bytes, ' ');
      for (auto& c : out) c = static_cast<char>('a' + random.below(2));
      return out;
    };
    const auto size = random.below(200);
    there_and_back(some(size), some(random.below(2) == 0 ? size : random.below(200)));
  }
}

TEST(Difference, has_no_more_bytes_than_there_is_room_for) {
  const std::string value = "eth0 10.0.0.1:1234 up", base = "eth0 10.0.0.1:9999 up";
  const auto needed = there_and_back(value, base);
  std::vector<std::byte> room(64, std::byte{'?'});
  for (std::size_t most = 0; most < needed; ++most) {
    EXPECT_EQ(write_difference(bytes_of(value), bytes_of(base), {room.data(), most}), 0u);
    EXPECT_EQ(room[most], std::byte{'?'}) << most;
  }
  EXPECT_EQ(write_difference(bytes_of(value), bytes_of(base), {room.data(), needed}), needed);
}

TEST(Difference, that_is_damaged_is_refused_or_ends) {
  const std::string base = "eth0 10.0.0.1:9999 up";
  const auto is_refused = [&](std::string_view difference) {
    WholeValue whole;
    return !apply_difference(bytes_of(difference), bytes_of(base), whole);
  };
  using namespace std::string_view_literals;
  EXPECT_TRUE(is_refused(""sv));
  EXPECT_TRUE(is_refused("\x05"sv));          // no run
  EXPECT_TRUE(is_refused("\x7f\x7f\x00"sv));  // longer than both
  EXPECT_TRUE(is_refused("\x05\x06\x00"sv));  // a run longer than the value
  EXPECT_TRUE(
      is_refused("\x05\x00\x05"
                 "abcd"sv));                                  // own bytes that are missing
  EXPECT_TRUE(is_refused("\x05\x05\x00x"sv));                 // bytes behind it
  EXPECT_TRUE(is_refused("\x05\x05\x00\x00\x00"sv));          // a run behind it
  EXPECT_TRUE(is_refused("\x05\x02\x00\x00\x00\x03\x00"sv));  // a run of nothing
  EXPECT_TRUE(is_refused("\xff\xff\xff\xff\xff\x01"sv));
  testing::Random random;
  std::size_t ended = 0;
  for (unsigned round = 0; round < testing::rounds(100'000); ++round) {
    std::vector<std::byte> bytes(random.below(20));
    for (auto& each : bytes)
      each = static_cast<std::byte>(random.below(2) == 0 ? random.below(256) : random.below(12));
    WholeValue whole;
    const auto value = apply_difference(bytes, bytes_of(base), whole);
    EXPECT_LE(value ? value->size() : 0, base.size() + bytes.size());
    ended += value ? 1 : 0;
  }
  EXPECT_GT(ended, 0u);
}

TEST(Varint, there_and_back) {
  for (const std::uint64_t number : {0ull, 1ull, 127ull, 128ull, 16383ull, 16384ull, (1ull << 35) - 1}) {
    std::byte bytes[most_varint_bytes];
    const auto* const end = put_varint(bytes, number);
    EXPECT_EQ(static_cast<std::size_t>(end - bytes), varint_bytes(number));
    std::uint64_t at = 0, back = 1;
    EXPECT_TRUE(read_varint({bytes, varint_bytes(number)}, at, back));
    EXPECT_EQ(back, number);
    EXPECT_EQ(at, varint_bytes(number));
    at = 0;
    EXPECT_FALSE(read_varint({bytes, varint_bytes(number) - 1}, at, back));
  }
}

}  // namespace
}  // namespace weft::store
