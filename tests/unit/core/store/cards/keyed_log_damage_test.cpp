// SPDX-License-Identifier: BSD-3-Clause
// A client writes the bytes of its own card wrong: a reader neither crashes, nor loops, nor reads outside.
#include <algorithm>
#include <utility>

#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

const std::string keys[] = {"a", "key.one", "key.two", std::string(300, 'k'), "tail"};

ExactLog filled(std::uint32_t buckets, std::uint64_t first = 2048) {
  ExactLog log(2048, buckets, first);
  for (int round = 0; round < 3; ++round)
    for (const auto& key : keys)
      EXPECT_TRUE(log.put(key, std::string(static_cast<std::size_t>(round * 11), 'v')));
  return log;
}

/// Reads every byte that a lookup hands out: the sanitizer checks where it lies.
std::uint64_t touch(const Record& record) {
  std::uint64_t sum = record.scope;
  for (const char c : record.key) sum += static_cast<unsigned char>(c);
  for (const std::byte b : record.value) sum += static_cast<std::uint64_t>(b);
  return sum;
}

TEST(KeyedLogDamage, ends_in_an_answer_whatever_is_written) {
  testing::Watchdog watchdog;
  testing::Random random;
  std::uint64_t sum = 0;
  for (const auto& [buckets, first] : {std::pair{1u, 2048u}, {8u, 2048u}, {1u, 600u}, {8u, 600u}}) {
    auto log = filled(buckets, first);
    const std::vector<std::byte> good(log.block.get(), log.block.get() + log.block.size());
    const std::vector<std::byte> good_rest(log.rest.get(), log.rest.get() + log.rest.size());
    for (unsigned round = 0; round < testing::rounds(50'000); ++round) {
      std::copy(good.begin(), good.end(), log.block.get());
      std::copy(good_rest.begin(), good_rest.end(), log.rest.get());
      // Mostly where the structure is: the header, the heads, the first records.
      const auto reach = random.below(2) == 0 ? KeyedLog::footprint(200, buckets) : good.size();
      testing::damage(random, log.block.get(), reach);
      if (random.below(2) == 0) testing::damage(random, log.rest.get(), log.rest.size());
      for (const auto& key : keys)
        if (const auto found = log.log.find(rank0, key, hash_key(key))) sum += touch(*found);
      std::size_t records = 0;
      (void)log.log.visit(0, [&](const Record& r) { sum += touch(r), ++records; });
      ASSERT_LE(records, 2048u / 24);
      (void)log.log.adopt();
      (void)log.put("after", "value");
      if (const auto found = log.log.find(rank0, "after", hash_key("after"))) sum += touch(*found);
    }
  }
  EXPECT_NE(sum, 0u);
}

TEST(KeyedLogDamage, bounds_that_cannot_be_are_corrupt) {
  for (const std::uint64_t lie :
       {std::uint64_t{2056}, ~std::uint64_t{0}, std::uint64_t{4}, ~std::uint64_t{7}}) {
    auto log = filled(8);
    log.published() = lie;
    EXPECT_EQ(log.get("a"), corrupt());
    EXPECT_EQ(log.log.visit(0, [](const Record&) {}).error().code, Errc::corrupt);
    EXPECT_EQ(log.log.adopt().error().code, Errc::corrupt);
    EXPECT_EQ(log.put("a", "b").error().code, Errc::corrupt);
  }
}

TEST(KeyedLogDamage, a_link_that_does_not_go_back_is_refused) {
  auto log = filled(1);
  auto* head = log.heads();
  auto* newest = reinterpret_cast<std::uint32_t*>(log.data() + (*head - 1) * 8 + 8);  // its `previous`
  *newest = *head;                                                                    // to itself
  EXPECT_EQ(log.get("nowhere"), corrupt());
  *newest = *head + 1;  // forward
  EXPECT_EQ(log.get("nowhere"), corrupt());
  *head = static_cast<std::uint32_t>(log.published() / 8 + 1);  // to the end
  EXPECT_EQ(log.get("a"), corrupt());
  *head = 0xffffffff;
  EXPECT_EQ(log.get("a"), corrupt());
}

TEST(KeyedLogDamage, lengths_beyond_the_end_are_refused) {
  ExactLog log(256, 1);
  ASSERT_TRUE(log.put("key", "value"));
  auto* value_bytes = reinterpret_cast<std::uint32_t*>(log.data() + 16);
  auto* key_bytes = reinterpret_cast<std::uint16_t*>(log.data() + 22);  // in its lowest 9 bits
  for (const std::uint32_t lie : {9u, 1000u, 0xffffffffu}) {
    *value_bytes = lie;
    EXPECT_EQ(log.get("key"), corrupt()) << lie;
    EXPECT_EQ(log.log.visit(0, [](const Record&) {}).error().code, Errc::corrupt);
  }
  *value_bytes = 5;
  const std::uint16_t others = *key_bytes - 3;
  for (const std::uint16_t lie : {9, 300, 511}) {
    *key_bytes = others + lie;
    EXPECT_EQ(log.get("key"), corrupt()) << lie;
  }
  *key_bytes = others + 3;
  EXPECT_EQ(log.get("key"), "value");
}

}  // namespace
}  // namespace weft::store
