// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/early.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weft::collectives {
namespace {

using Key = EarlyMessages::Key;

MessageHeader header_of(const Key& key) {
  return {.signature = key.first, .generation = key.second, .blocks = {}};
}
Key key_of(std::uint64_t number) {
  return {{1, number}, 1};
}
void keep(EarlyMessages& early, const Key& key, std::size_t bytes, NodeNumber from = 3) {
  early.keep(from, header_of(key), std::vector<std::byte>(bytes, std::byte{7}));
}

TEST(EarlyMessages, come_back_once_in_their_order) {
  EarlyMessages early(10'000);
  for (NodeNumber from = 0; from < 5; ++from) keep(early, key_of(from % 2), from, from);
  EXPECT_EQ(early.bytes(), 5 * EarlyMessages::overhead + 0 + 1 + 2 + 3 + 4);
  const auto even = early.take(key_of(0));
  ASSERT_EQ(even.messages.size(), 3u);
  for (NodeNumber i = 0; i < 3; ++i) {
    EXPECT_EQ(even.messages[i].from, 2 * i);
    EXPECT_EQ(even.messages[i].payload.size(), 2 * i);
  }
  EXPECT_FALSE(even.is_incomplete);
  EXPECT_TRUE(early.take(key_of(0)).messages.empty());
  EXPECT_EQ(early.take(key_of(1)).messages.size(), 2u);
  EXPECT_EQ(early.bytes(), 0u);
}

TEST(EarlyMessages, exact_fill_and_one_byte_too_many) {
  EarlyMessages early(2 * EarlyMessages::overhead + 10);
  keep(early, key_of(1), 4);
  keep(early, key_of(1), 6);
  EXPECT_EQ(early.bytes(), 2 * EarlyMessages::overhead + 10);
  keep(early, key_of(2), 0);  // no room
  EXPECT_TRUE(early.take(key_of(2)).is_incomplete);
  EXPECT_EQ(early.take(key_of(1)).messages.size(), 2u);
  keep(early, key_of(1), 2 * EarlyMessages::overhead + 11);
  const auto kept = early.take(key_of(1));
  EXPECT_TRUE(kept.is_incomplete);
  EXPECT_TRUE(kept.messages.empty());
  EXPECT_EQ(early.bytes(), 0u);
}

TEST(EarlyMessages, the_account_is_that_of_what_is_kept_whatever_comes_and_returns_to_zero) {
  constexpr std::uint64_t most = 4000;
  EarlyMessages early(most);
  std::map<Key, std::uint64_t> expected;  // of those that are complete
  std::map<Key, bool> incomplete;
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto key = key_of(random() % 8);
    if (random() % 4 == 0) {
      const auto kept = early.take(key);
      std::uint64_t bytes = 0;
      for (const auto& message : kept.messages) bytes += EarlyMessages::overhead + message.payload.size();
      EXPECT_EQ(bytes, expected[key]);
      EXPECT_EQ(kept.is_incomplete, incomplete[key]);
      expected.erase(key);
      incomplete.erase(key);
    } else {
      const auto cost = EarlyMessages::overhead + random() % 1500;
      const bool fits = early.bytes() + cost <= most;
      keep(early, key, cost - EarlyMessages::overhead);
      if (fits && !incomplete[key]) expected[key] += cost;
      if (!fits) incomplete[key] = true;
      if (!fits) expected[key] = 0;
    }
    std::uint64_t sum = 0;
    for (const auto& [name, bytes] : expected) sum += bytes;
    ASSERT_EQ(early.bytes(), sum) << i;
    ASSERT_LE(sum, most);
  }
  for (std::uint64_t number = 0; number < 8; ++number) (void)early.take(key_of(number));
  EXPECT_EQ(early.bytes(), 0u);
}

TEST(EarlyMessages, more_than_can_be_marked_fails_all_that_come_after) {
  EarlyMessages early(0);
  for (std::uint64_t i = 0; i < EarlyMessages::most_incomplete; ++i) keep(early, key_of(i), 1);
  EXPECT_FALSE(early.take(key_of(1u << 30)).is_incomplete);
  keep(early, key_of(1u << 20), 1);
  EXPECT_TRUE(early.take(key_of(1u << 30)).is_incomplete);
  EXPECT_TRUE(early.take(key_of(1u << 20)).is_incomplete);
  EXPECT_TRUE(early.take(key_of(5)).is_incomplete);
  EXPECT_EQ(early.bytes(), 0u);
}

TEST(EarlyMessages, finds_others_of_the_same_upper_half) {
  EarlyMessages early(10'000);
  const EarlyMessages::Key one{{7, 1}, 1}, other{{7, 2}, 5}, far{{8, 1}, 1};
  keep(early, one, 1, 2);
  keep(early, other, 1, 4);
  keep(early, other, 1, 6);
  keep(early, far, 1, 2);
  using Found = std::vector<std::pair<EarlyMessages::Key, std::vector<NodeNumber>>>;
  EXPECT_EQ(early.like({7, 1}), (Found{{other, {4, 6}}}));
  EXPECT_EQ(early.like({7, 3}), (Found{{one, {2}}, {other, {4, 6}}}));
  EXPECT_EQ(early.like({9, 3}), Found{});
}

TEST(EarlyMessages, of_one_that_has_failed_elsewhere_that_alone_is_kept) {
  EarlyMessages early(10'000);
  keep(early, key_of(1), 500, 2);
  keep(early, key_of(2), 100, 2);
  auto abort = header_of(key_of(1));
  abort.type = MessageHeader::Type::abort;
  abort.why = Why::invalid;
  early.keep(4, abort, {});
  keep(early, key_of(1), 500, 5);
  EXPECT_EQ(early.bytes(), 2 * EarlyMessages::overhead + 100);
  EXPECT_EQ(early.open_bytes(), EarlyMessages::overhead + 100);
  EXPECT_EQ(early.end_of(key_of(1)), Why::invalid);
  EXPECT_EQ(early.end_of(key_of(2)), std::nullopt);
  early.end(key_of(2), 6, Why::lost);
  early.end(key_of(3), 6, Why::lost);
  EXPECT_EQ(early.open_bytes(), 0u);
  EXPECT_EQ(early.end_of(key_of(3)), std::nullopt) << "nothing has come of it";
  const auto first = early.take(key_of(1)), second = early.take(key_of(2));
  ASSERT_EQ(first.messages.size(), 1u);
  EXPECT_EQ(first.messages[0].from, 4u);
  ASSERT_EQ(second.messages.size(), 1u);
  EXPECT_EQ(second.messages[0].from, 6u);
  EXPECT_EQ(early.bytes(), 0u);
  early.end(key_of(3), 6, Why::lost, true);
  EXPECT_EQ(early.end_of(key_of(3)), Why::lost) << "a rival is open";
}

TEST(EarlyMessages, those_of_a_lost_node_go) {
  EarlyMessages early(10'000);
  keep(early, key_of(1), 1, 2);
  keep(early, key_of(1), 10, 3);
  keep(early, key_of(2), 100, 2);
  auto abort = header_of(key_of(3));
  abort.type = MessageHeader::Type::abort;
  early.keep(2, abort, {});
  early.lose_node(2);
  EXPECT_EQ(early.bytes(), 2 * EarlyMessages::overhead + 10);
  EXPECT_EQ(early.take(key_of(1)).messages.size(), 1u);
  EXPECT_TRUE(early.take(key_of(2)).messages.empty());
  EXPECT_EQ(early.take(key_of(3)).messages.size(), 1u);
  EXPECT_EQ(early.bytes(), 0u);
}

TEST(EarlyMessages, an_end_comes_after_messages_that_did_not_fit) {
  EarlyMessages early(EarlyMessages::overhead);
  keep(early, key_of(1), 500);
  auto abort = header_of(key_of(1));
  abort.type = MessageHeader::Type::abort;
  early.keep(4, abort, {});
  const auto kept = early.take(key_of(1));
  EXPECT_FALSE(kept.is_incomplete);
  EXPECT_EQ(kept.messages.size(), 1u);
}

}  // namespace
}  // namespace weft::collectives
