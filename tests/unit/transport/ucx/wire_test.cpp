// SPDX-License-Identifier: BSD-3-Clause
#include "transport/ucx/wire.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace weft::ucx {
namespace {

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::byte>(i * 7 + 1);
  return out;
}

TEST(UcxWire, an_address_comes_out_as_it_went_in) {
  for (const std::size_t size : {1, 38, 79, 248}) {
    const auto bytes = some_bytes(size);
    const auto packed = pack_address(bytes);
    const auto unpacked = unpack_address(packed);
    ASSERT_TRUE(unpacked) << size;
    EXPECT_TRUE(std::equal(unpacked->begin(), unpacked->end(), bytes.begin(), bytes.end()));
  }
}

TEST(UcxWire, an_address_of_nothing_is_none) {
  EXPECT_FALSE(unpack_address({}));
  EXPECT_FALSE(unpack_address(pack_address({})));
}

TEST(UcxWire, every_byte_of_an_address_counts) {
  const auto packed = pack_address(some_bytes(79));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto wrong = packed;
    wrong[i] ^= std::byte{0x10};
    EXPECT_FALSE(unpack_address(wrong)) << i;
    EXPECT_FALSE(unpack_address(Bytes(packed).first(i))) << i;
  }
}

TEST(UcxWire, a_key_comes_out_as_it_went_in) {
  for (const std::size_t size : {0, 1, 64}) {
    const auto remote = some_bytes(size);
    const auto packed = pack_key({1, 2, 3, remote});
    const auto key = unpack_key(packed);
    ASSERT_TRUE(key) << size;
    EXPECT_EQ(key->region, 1u);
    EXPECT_EQ(key->base, 2u);
    EXPECT_EQ(key->length, 3u);
    EXPECT_TRUE(std::equal(key->remote_key.begin(), key->remote_key.end(), remote.begin(), remote.end()));
  }
}

TEST(UcxWire, a_key_is_no_address_nor_the_other_way_round) {
  EXPECT_FALSE(unpack_address(pack_key({1, 2, 3, {}})));
  EXPECT_FALSE(unpack_key(pack_address(some_bytes(79))));
}

TEST(UcxWire, a_key_that_was_cut_is_refused) {
  const auto packed = pack_key({1, 2, 3, some_bytes(8)});
  for (std::size_t i = 0; i < packed.size(); ++i) EXPECT_FALSE(unpack_key(Bytes(packed).first(i))) << i;
}

}  // namespace
}  // namespace weft::ucx
