// SPDX-License-Identifier: BSD-3-Clause
// Contributions to a full fence: there and back, what is compressed and what is not, and bytes that no server
// of ours wrote.
#include "core/server/fences/exchange/contribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "core/data/types/wire.hpp"
#include "tests/unit/transport/shm/testing.hpp"

namespace weft::server {
namespace {

using Blob = std::vector<std::byte>;

constexpr auto plain = std::byte{0}, compressed = std::byte{1};

Blob bytes_of(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}
/// Alike as cards are: a name, a number.
Blob cards_of(std::size_t bytes) {
  std::string text;
  for (int rank = 0; text.size() < bytes; ++rank) text += "card of rank " + std::to_string(rank);
  text.resize(bytes);
  return bytes_of(text);
}
Blob noise_of(std::size_t bytes) {
  std::mt19937_64 random(7);
  Blob out(bytes);
  for (auto& byte : out) byte = static_cast<std::byte>(random());
  return out;
}
bool equal(Bytes a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
/// In a block of exactly its size, so that asan sees a read past its end.
Result<Packer::Unpacked> unpack(Packer& packer, Bytes bytes) {
  const testing::ExactBlock exact(std::max<std::size_t>(bytes.size(), 1));
  std::copy(bytes.begin(), bytes.end(), exact.get());
  auto out = packer.unpack({exact.get(), bytes.size()});
  if (out) {  // its bytes are there to be read
    std::size_t sum = 0;
    for (const auto part : {out->parts.place, out->parts.cards})
      for (const auto byte : part) sum += std::to_integer<std::size_t>(byte);
    EXPECT_LE(sum, 255 * Packer::most_compressed);
  }
  return out;
}
void expect_back(Packer& packer, Bytes packed, Bytes place, Bytes cards) {
  const auto back = packer.unpack(packed);
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_TRUE(equal(back->parts.place, place));
  EXPECT_TRUE(equal(back->parts.cards, cards));
}

TEST(Contribution, comes_back_as_it_went) {
  Packer packer, other;
  const auto place = bytes_of("where the cards lie");
  for (const auto& at : {Blob(), place})
    for (const std::size_t size : {0, 1, 100, 1000, 1023, 1024, 1025, 20'000, 65'535, 65'536, 300'000})
      for (const auto& cards : {cards_of(size), noise_of(size), Blob(size)})
        expect_back(other, packer.pack({at, cards}), at, cards);
}

TEST(Contribution, is_compressed_from_the_threshold_on) {
  Packer packer;
  constexpr auto least = Packer::least_compressed - 4;  // and the length of the place
  EXPECT_EQ(packer.pack({{}, cards_of(least - 1)})[0], plain);
  const auto packed = packer.pack({{}, cards_of(least)});
  EXPECT_EQ(packed[0], compressed);
  EXPECT_LT(packed.size(), least / 2);
  EXPECT_EQ(packer.pack({{}, Blob(Packer::most_compressed - 4)})[0], compressed);
  EXPECT_EQ(packer.pack({{}, Blob(Packer::most_compressed - 3)})[0], plain);
}

TEST(Contribution, travels_plain_where_an_eighth_is_not_saved) {
  Packer packer;
  for (const std::size_t size : {1024, 20'000, 65'536, 300'000}) {
    const auto noise = noise_of(size);
    EXPECT_EQ(packer.pack({{}, noise}).size(), 1 + 4 + size);
    auto some = cards_of(size);
    std::copy_n(noise.begin(), size / 16 * 15, some.begin());
    EXPECT_EQ(packer.pack({{}, some})[0], plain) << size;
    some = cards_of(size);
    std::copy_n(noise.begin(), size / 2, some.end() - static_cast<std::ptrdiff_t>(size / 2));
    EXPECT_EQ(packer.pack({{}, some})[0], compressed) << size;
  }
}

TEST(Contribution, is_not_tried_to_its_end_where_a_large_one_begins_with_noise) {
  Packer packer;
  auto cards = cards_of(300'000);
  const auto noise = noise_of(20'000);
  std::copy(noise.begin(), noise.end(), cards.begin());
  EXPECT_EQ(packer.pack({{}, cards})[0], plain);
  cards.resize(60'000);
  EXPECT_EQ(packer.pack({{}, cards})[0], compressed);
}

TEST(Contribution, is_counted) {
  Packer packer;
  const auto small = packer.pack({{}, cards_of(100)}), large = packer.pack({{}, cards_of(10'000)});
  EXPECT_EQ(packer.counters().plain, 5 + 100 + 5 + 10'000U);
  EXPECT_EQ(packer.counters().packed, small.size() + large.size());
  EXPECT_LT(packer.counters().packed, 1000U);
}

TEST(Contribution, cut_it_is_corrupt_or_has_fewer_cards) {
  Packer packer;
  const auto place = bytes_of("place"), cards = cards_of(2000);
  const auto packed = packer.pack({place, cards});
  ASSERT_EQ(packed[0], compressed);
  for (std::size_t length = 0; length < packed.size(); ++length)
    EXPECT_FALSE(unpack(packer, Bytes(packed).first(length))) << length;
  // Plain, the cards themselves say how long they are.
  const auto little = packer.pack({place, cards_of(20)});
  ASSERT_EQ(little[0], plain);
  for (std::size_t length = 0; length < little.size(); ++length)
    EXPECT_EQ(unpack(packer, Bytes(little).first(length)).has_value(), length >= 1 + 4 + place.size());
}

TEST(Contribution, too_long_it_is_corrupt) {
  Packer packer;
  auto packed = packer.pack({{}, cards_of(2000)});
  const auto frame = Blob(packed.begin() + 1, packed.end());
  packed.push_back(std::byte{0});
  EXPECT_FALSE(unpack(packer, packed));
  packed.pop_back();
  packed.insert(packed.end(), frame.begin(), frame.end());  // a second frame
  EXPECT_FALSE(unpack(packer, packed));
  packed.resize(1 + frame.size());
  ASSERT_TRUE(unpack(packer, packed));
  for (const std::uint8_t byte : {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0})  // a frame that is to be skipped
    packed.push_back(static_cast<std::byte>(byte));
  EXPECT_FALSE(unpack(packer, packed));
}

TEST(Contribution, of_another_form_it_is_corrupt) {
  Packer packer;
  auto packed = packer.pack({{}, cards_of(100)});
  for (int form = 2; form < 256; ++form) {
    packed[0] = static_cast<std::byte>(form);
    EXPECT_FALSE(unpack(packer, packed)) << form;
  }
}

/// A frame of one block as RFC 8878 has it: magic, a descriptor "single segment, length in 8 bytes", the
/// length, then an RLE block, whose 4 bytes stand for up to 128 KiB.
Blob frame_of(std::uint64_t claimed, std::uint32_t repeated) {
  data::Writer out;
  out.scalar(compressed);
  out.u32(0xfd2fb528);
  out.u8(0xe0);
  out.u64(claimed);
  const std::uint32_t block = repeated << 3 | 1 << 1 | 1;  // length, RLE, last
  out.u16(static_cast<std::uint16_t>(block));
  out.u8(static_cast<std::uint8_t>(block >> 16));
  out.u8(0);
  return std::move(out).take();
}

TEST(Contribution, what_claims_to_be_larger_than_it_is_is_refused) {
  Packer packer;
  const auto good = unpack(packer, frame_of(1000, 1000));  // so the frames below are wrong in one thing only
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->parts.cards.size(), 996U);
  for (const std::uint64_t claimed :
       {std::uint64_t{0}, std::uint64_t{999}, std::uint64_t{1001}, std::uint64_t{Packer::most_compressed},
        std::uint64_t{Packer::most_compressed} + 1, std::uint64_t{1} << 32, std::uint64_t{1} << 62,
        ~std::uint64_t{0}, ~std::uint64_t{0} - 1}) {
    const auto refused = unpack(packer, frame_of(claimed, 1000));
    ASSERT_FALSE(refused) << claimed;
    EXPECT_EQ(refused.error().code, Errc::corrupt);  // not no_memory: nothing was asked for
  }
}

TEST(Contribution, without_its_length_a_frame_is_refused) {
  Packer packer;
  data::Writer out;
  out.scalar(compressed);
  out.u32(0xfd2fb528);
  out.u8(0x00);  // no length, a window
  out.u8(0x50);  // of 1 MiB
  out.u16(1000 << 3 | 1 << 1 | 1);
  out.u8(0);
  out.u8(0);
  EXPECT_FALSE(unpack(packer, out.view()));
}

/// The seed is printed where it fails; nothing but what pack() made may come through unchanged.
TEST(Contribution, damaged_it_is_refused_or_bounded) {
  Packer packer;
  const auto place = bytes_of("place");
  for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
    std::mt19937_64 random(seed);
    auto packed = packer.pack({place, cards_of(1000 + random() % 3000)});
    for (auto hits = 1 + random() % 4; hits != 0; --hits) {
      const auto at = random() % packed.size();
      switch (random() % 3) {
        case 0:
          packed[at] = static_cast<std::byte>(random());
          break;
        case 1:
          packed.erase(packed.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        default:
          packed.insert(packed.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(random()));
      }
      if (packed.empty()) break;
    }
    const auto out = unpack(packer, packed);
    if (out && out->memory) {
      ASSERT_LE(out->parts.place.size() + out->parts.cards.size(), Packer::most_compressed) << seed;
    }
    // A failure leaves no trace: the next pieces are packed and unpacked well.
    if (seed % 1000 == 0) {
      const auto cards = cards_of(5000);
      expect_back(packer, packer.pack({place, cards}), place, cards);
    }
  }
}

}  // namespace
}  // namespace weft::server
