// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/contact.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/unit/transport/mesh/nodes.hpp"

namespace weft::mesh {
namespace {

TEST(Contact, survives_packing) {
  for (const std::size_t keys : {std::size_t{0}, std::size_t{1}, Contact::most_keys}) {
    Contact contact{
        .incarnation = 0x1122334455667788, .address = {pattern(Address::max_bytes, 1)}, .keys = {}};
    for (std::size_t i = 0; i < keys; ++i)
      contact.keys.push_back(pattern(MemoryRegion::max_key_bytes - i, 2));
    const auto packed = pack(contact);
    EXPECT_LE(packed.size(), Contact::max_packed_bytes);
    const auto back = unpack_contact(packed);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->incarnation, contact.incarnation);
    EXPECT_EQ(back->address.bytes, contact.address.bytes);
    EXPECT_EQ(back->keys, contact.keys);
  }
}

TEST(Contact, cut_anywhere_or_longer_is_refused) {
  auto packed =
      pack({.incarnation = 1, .address = {pattern(20, 1)}, .keys = {pattern(30, 2), pattern(1, 3)}});
  for (std::size_t length = 0; length < packed.size(); ++length)
    EXPECT_EQ(unpack_contact(Bytes(packed).first(length)).error().code, Errc::corrupt) << length;
  packed.push_back({});
  EXPECT_FALSE(unpack_contact(packed));
}

TEST(Contact, lengths_are_bounded) {
  const auto fails = [](const Contact& contact) { return !unpack_contact(pack(contact)); };
  EXPECT_TRUE(fails({.incarnation = 1, .address = {}, .keys = {}}));
  EXPECT_TRUE(fails({.incarnation = 1, .address = {pattern(Address::max_bytes + 1, 1)}, .keys = {}}));
  EXPECT_TRUE(fails({.incarnation = 1, .address = {pattern(4, 1)}, .keys = {{}}}));
  EXPECT_TRUE(fails(
      {.incarnation = 1, .address = {pattern(4, 1)}, .keys = {pattern(MemoryRegion::max_key_bytes + 1, 1)}}));
  EXPECT_TRUE(fails({.incarnation = 1,
                     .address = {pattern(4, 1)},
                     .keys = std::vector<std::vector<std::byte>>(Contact::most_keys + 1, pattern(4, 1))}));
}

/// Changed bytes are refused or make another contact; nothing outside of the bytes is read (asan looks on).
TEST(Contact, changed_bytes) {
  const auto packed = pack({.incarnation = 1, .address = {pattern(20, 1)}, .keys = {pattern(30, 2)}});
  std::mt19937 random(3);
  for (int i = 0; i < 50'000; ++i) {
    auto changed = packed;
    for (auto changes = 1 + random() % 4; changes != 0; --changes)
      changed[random() % changed.size()] = static_cast<std::byte>(random());
    if (const auto contact = unpack_contact(changed)) {
      EXPECT_EQ(pack(*contact), changed);
    }
  }
}

}  // namespace
}  // namespace weft::mesh
