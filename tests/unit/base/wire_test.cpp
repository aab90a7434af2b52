// SPDX-License-Identifier: BSD-3-Clause
#include "base/wire.hpp"

#include <gtest/gtest.h>

namespace weft::base {
namespace {

enum class Colour : std::uint8_t { red, green };

struct Point {
  std::int32_t x = 0, y = 0;
  bool operator==(const Point&) const = default;
};
template <class Archive>
constexpr void fields(Archive& archive, Point& point) {
  archive(point.x, point.y);
}

struct Everything {
  static constexpr std::uint16_t wire_version = 7;
  std::uint8_t byte = 0;
  std::uint64_t wide = 0;
  bool flag = false;
  Colour colour = Colour::red;
  std::string text;
  std::vector<std::byte> bytes;
  std::vector<Point> points;
  std::vector<std::string> names;
  std::array<std::uint16_t, 3> three{};
  std::optional<Point> maybe;
  bool operator==(const Everything&) const = default;
};
template <class Archive>
void fields(Archive& archive, Everything& m) {
  archive(m.byte, m.wide, m.flag, m.colour, m.text, m.bytes, m.points, at_most(m.names, 2), m.three, m.maybe);
}
bool is_valid(const Everything& m) {
  return m.colour <= Colour::green;
}

Everything sample() {
  return {.byte = 1,
          .wide = 0x1122334455667788,
          .flag = true,
          .colour = Colour::green,
          .text = "text",
          .bytes = {std::byte{9}, std::byte{8}},
          .points = {{1, -1}, {2, -2}},
          .names = {"a", ""},
          .three = {1, 2, 3},
          .maybe = Point{5, 6}};
}

std::vector<std::byte> raw(std::initializer_list<int> numbers) {
  std::vector<std::byte> out;
  for (const int n : numbers) out.push_back(static_cast<std::byte>(n));
  return out;
}

TEST(wire, every_kind_of_field_comes_back) {
  const auto bytes = encode(sample());
  const auto back = decode<Everything>(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, sample());
  EXPECT_EQ(*decode<Everything>(encode(Everything{})), Everything{});
}

TEST(wire, bytes_are_little_endian_without_padding) {
  Writer out;
  out(std::uint8_t{1}, std::uint32_t{0x02030405}, std::string("ab"), true, std::vector<std::uint16_t>{6});
  EXPECT_EQ(std::move(out).take(), raw({1, 5, 4, 3, 2, 2, 0, 0, 0, 'a', 'b', 1, 1, 0, 0, 0, 6, 0}));
}

TEST(wire, cut_anywhere_or_longer_is_corrupt) {
  auto bytes = encode(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    const auto back = decode<Everything>(cut);
    ASSERT_FALSE(back) << length;
    EXPECT_EQ(back.error().code, Errc::corrupt);
  }
  bytes.push_back({});
  EXPECT_FALSE(decode<Everything>(bytes));
}

TEST(wire, another_version_is_corrupt) {
  auto bytes = encode(sample());
  EXPECT_EQ(bytes[0], std::byte{7});
  bytes[0] = std::byte{8};
  EXPECT_FALSE(decode<Everything>(bytes));
}

TEST(wire, what_is_not_valid_is_corrupt) {
  auto wrong = sample();
  wrong.colour = Colour{2};
  EXPECT_FALSE(decode<Everything>(encode(wrong)));
  wrong = sample();
  wrong.names.emplace_back();
  EXPECT_FALSE(decode<Everything>(encode(wrong))) << "more names than two";
}

TEST(wire, a_part_that_is_not_valid_spoils_the_whole) {
  auto wrong = sample();
  wrong.colour = Colour{2};
  EXPECT_FALSE(decode<std::vector<Everything>>(encode(std::vector{sample(), wrong})));
  EXPECT_TRUE(decode<std::vector<Everything>>(encode(std::vector{sample(), sample()})));
}

TEST(wire, a_bool_is_zero_or_one) {
  EXPECT_TRUE(*decode<bool>(raw({1})));
  EXPECT_FALSE(decode<bool>(raw({2})));
  EXPECT_FALSE(decode<std::optional<std::uint8_t>>(raw({2, 0})));
}

TEST(wire, a_count_beyond_the_bytes_asks_for_no_memory) {
  const auto lie = raw({0xff, 0xff, 0xff, 0xff, 0, 0, 0});
  EXPECT_FALSE(decode<std::vector<std::string>>(lie));
  EXPECT_FALSE(decode<std::vector<std::byte>>(lie));
  EXPECT_FALSE(decode<std::string>(lie));
}

TEST(wire, a_spoilt_reader_answers_nothing_from_then_on) {
  const auto bytes = raw({1, 2, 3});
  Reader in(bytes);
  EXPECT_EQ(in.u32(), 0u);
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.u8(), 0u);
  EXPECT_TRUE(in.text().empty());
  EXPECT_TRUE(in.rest().empty());
  EXPECT_FALSE(in.done());
}

TEST(wire, a_fixed_message_is_the_same_bytes_without_heap) {
  static_assert(fixed_bytes<Point> == 8);
  const Point point{7, -7};
  const auto fixed = encode_fixed(point);
  EXPECT_EQ(std::vector<std::byte>(fixed.begin(), fixed.end()), encode(point));
}

}  // namespace
}  // namespace weft::base
