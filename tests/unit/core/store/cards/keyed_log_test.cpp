// SPDX-License-Identifier: BSD-3-Clause
// KeyedLog at its edges: one thread, memory of exactly its size.
#include "core/store/cards/keyed_log.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

TEST(KeyedLog, an_empty_one_has_nothing) {
  ExactLog log(1024);
  EXPECT_TRUE(log.log.empty());
  EXPECT_EQ(log.get("key"), missing());
  EXPECT_EQ(log.count(), 0u);
  EXPECT_TRUE(log.log.adopt());
  EXPECT_EQ(log.log.published(), 0u);
}

TEST(KeyedLog, without_room_for_a_record_every_append_is_refused) {
  for (const std::uint64_t capacity : {0, 8, 24}) {
    ExactLog log(capacity);
    EXPECT_EQ(log.put("k", "v").error().code, Errc::no_space);
    EXPECT_EQ(log.get("k"), missing());
  }
}

TEST(KeyedLog, fills_to_the_last_byte_and_not_further) {
  const auto each = KeyedLog::record_bytes(2, 5);
  ExactLog log(3 * each);
  for (const char* key : {"k1", "k2", "k3"}) EXPECT_TRUE(log.put(key, "12345"));
  EXPECT_EQ(log.log.published(), 3 * each);
  EXPECT_EQ(log.put("k4", "").error().code, Errc::no_space);
  EXPECT_EQ(log.count(), 3u);
  EXPECT_EQ(log.get("k3"), "12345");
  EXPECT_EQ(log.get("k4"), missing());
}

TEST(KeyedLog, one_byte_too_many_leaves_it_unchanged) {
  const auto each = KeyedLog::record_bytes(1, 7);  // no padding: one more byte needs eight more
  ExactLog log(2 * each);
  ASSERT_TRUE(log.put("a", "1234567"));
  EXPECT_EQ(log.put("b", "12345678").error().code, Errc::no_space);
  EXPECT_EQ(log.log.published(), each);
  EXPECT_EQ(log.get("b"), missing());
  EXPECT_TRUE(log.put("b", "1234567"));
}

TEST(KeyedLog, keys_up_to511_bytes) {
  ExactLog log(8192);
  const std::string longest(511, 'x');
  EXPECT_TRUE(log.put(longest, "v"));
  EXPECT_EQ(log.get(longest), "v");
  EXPECT_EQ(log.get(longest.substr(1)), missing());
  EXPECT_EQ(log.put(longest + 'x', "v").error().code, Errc::invalid);
  EXPECT_EQ(log.put("", "v").error().code, Errc::invalid);
  EXPECT_EQ(log.count(), 1u);
}

TEST(KeyedLog, values_of_nothing_and_of_anything) {
  ExactLog log(1 << 20);
  EXPECT_TRUE(log.put("empty", ""));
  EXPECT_EQ(log.get("empty"), "");
  const std::string big(900'000, 'b');
  EXPECT_TRUE(log.put("big", big));
  EXPECT_EQ(log.get("big"), big);
  const std::string binary("\0\xff\0", 3);
  EXPECT_TRUE(log.put("binary", binary));
  EXPECT_EQ(log.get("binary"), binary);
}

// The record's length field has 32 bits: a longer value must not come back short.
TEST(KeyedLog, values_of4_gi_b_are_refused) {
  constexpr std::uint64_t capacity = std::uint64_t{8} << 30, bytes = std::uint64_t{1} << 32;
  const auto map = [](std::uint64_t size) {
    return static_cast<std::byte*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  };
  auto* memory = map(KeyedLog::footprint(capacity, 8));
  auto* value = map(bytes);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_NE(value, MAP_FAILED);
  KeyedLog log(memory, capacity, 8);
  const auto refused = log.append({rank0, 1, "k", {value, bytes}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::no_space);
  EXPECT_TRUE(log.empty());
  ::munmap(memory, KeyedLog::footprint(capacity, 8));
  ::munmap(value, bytes);
}

TEST(KeyedLog, the_newest_value_wins_and_the_old_ones_stay) {
  ExactLog log(4096);
  for (const char* value : {"one", "two", "three"}) EXPECT_TRUE(log.put("key", value));
  EXPECT_EQ(log.get("key"), "three");
  std::string seen;
  EXPECT_TRUE(log.log.visit(0, [&](const Record& r) { seen += std::string(as_text(r.value)) + ' '; }));
  EXPECT_EQ(seen, "one two three ");
}

TEST(KeyedLog, subjects_are_kept_apart) {
  for (const std::uint32_t buckets : {1u, 8u}) {
    ExactLog log(1 << 16, buckets);
    std::vector<KeyOwner> owners;
    for (const auto realm : {Realm::rank, Realm::job, Realm::node, Realm::app, Realm::session})
      for (const std::uint32_t index : {0u, 1u, 7u, 0xffffffffu}) owners.push_back({realm, index});
    for (std::size_t i = 0; i < owners.size(); ++i) EXPECT_TRUE(log.put("key", std::to_string(i), owners[i]));
    for (std::size_t i = 0; i < owners.size(); ++i) EXPECT_EQ(log.get("key", owners[i]), std::to_string(i));
    EXPECT_EQ(log.get("key", {Realm::rank, 2}), missing());
  }
}

TEST(KeyedLog, many_keys_in_one_bucket) {
  ExactLog log(1 << 16, 1);
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(log.put("key." + std::to_string(i), std::to_string(i * i)));
  for (int i = 0; i < 500; ++i) EXPECT_EQ(log.get("key." + std::to_string(i)), std::to_string(i * i));
  EXPECT_EQ(log.get("key.500"), missing());
}

TEST(KeyedLog, an_equal_hash_is_not_an_equal_key) {
  ExactLog log(4096, 1);
  ASSERT_TRUE(log.put("key", "value"));
  EXPECT_EQ(log.log.find(rank0, "other", hash_key("key")).error().code, Errc::not_found);
}

TEST(KeyedLog, visit_goes_on_where_it_stopped) {
  ExactLog log(4096);
  ASSERT_TRUE(log.put("a", "1"));
  const auto from = log.log.visit(0, [](const Record&) {});
  ASSERT_TRUE(from);
  ASSERT_TRUE(log.put("b", "2"));
  std::string seen;
  const auto end = log.log.visit(*from, [&](const Record& r) { seen += r.key; });
  EXPECT_EQ(seen, "b");
  EXPECT_EQ(*end, log.log.published());
  EXPECT_EQ(log.log.visit(*end, [](const Record&) { FAIL(); }).value(), *end);
}

TEST(KeyedLog, visit_refuses_a_place_that_cannot_be) {
  ExactLog log(4096);
  ASSERT_TRUE(log.put("a", "1"));
  for (const std::uint64_t from :
       {std::uint64_t{1}, std::uint64_t{4}, log.log.published() + 8, ~std::uint64_t{7}})
    EXPECT_EQ(log.log.visit(from, [](const Record&) {}).error().code, Errc::corrupt);
}

TEST(KeyedLog, carries_scope_and_subject) {
  ExactLog log(4096);
  ASSERT_TRUE(log.log.append({{Realm::node, 5}, 3, "k", bytes_of("v")}));
  const auto found = log.log.find({Realm::node, 5}, "k", hash_key("k"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scope, 3);
  EXPECT_EQ(found->owner, (KeyOwner{Realm::node, 5}));
  EXPECT_EQ(found->key, "k");
}

// ---- a card's data in two pieces: no record lies across the seam

TEST(KeyedLogSeam, what_does_not_fit_the_first_piece_goes_to_the_second) {
  const auto each = KeyedLog::record_bytes(2, 20);  // 48
  for (std::uint64_t left = 0; left < each; left += 8) {
    ExactLog log(2 * each + left + 4 * each, 8, 2 * each + left);
    for (int i = 0; i < 6; ++i)
      ASSERT_TRUE(log.put("k" + std::to_string(i), std::string(20, static_cast<char>('a' + i)))) << left;
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(log.get("k" + std::to_string(i)), std::string(20, static_cast<char>('a' + i)));
    EXPECT_EQ(log.count(), 6u);
    EXPECT_EQ(log.log.published(), log.log.capacity());  // the gap is the only loss
    EXPECT_EQ(log.put("k7", "").error().code, Errc::no_space);
  }
}

TEST(KeyedLogSeam, a_first_piece_of_nothing) {
  ExactLog log(1024, 8, 0);
  ASSERT_TRUE(log.put("a", "1"));
  ASSERT_TRUE(log.put("a", "2"));
  EXPECT_EQ(log.get("a"), "2");
  EXPECT_EQ(log.count(), 2u);
}

TEST(KeyedLogSeam, a_record_larger_than_either_piece_is_refused) {
  ExactLog log(2048, 8, 1024);
  EXPECT_EQ(log.put("big", std::string(1500, 'b')).error().code, Errc::no_space);
  EXPECT_EQ(log.count(), 0u);
  EXPECT_TRUE(log.put("small", "s"));  // the first piece is still there
  EXPECT_LT(log.log.published(), 1024u);
}

TEST(KeyedLogSeam, no_space_in_the_second_piece_leaves_the_first) {
  ExactLog log(256 + 64, 8, 256);
  ASSERT_TRUE(log.put("a", std::string(150, 'a')));
  const auto before = log.log.published();
  EXPECT_EQ(log.put("b", std::string(100, 'b')).error().code, Errc::no_space);
  EXPECT_EQ(log.log.published(), before);
  EXPECT_TRUE(log.put("c", "fits before the seam"));
  EXPECT_EQ(log.count(), 2u);
}

// A Put is refused where its Commit would be: the sum is done before anything is written.
TEST(KeyedLogSeam, the_end_is_known_beforehand) {
  testing::Random random;
  for (int round = 0; round < 200; ++round) {
    const auto first = 8 * random.below(128);
    ExactLog log(first + 8 * random.below(256), 8, first);
    std::uint64_t end = 0;
    for (int i = 0; i < 30; ++i) {
      const std::string value(random.below(300), 'v');
      const auto told = log.log.end_after(end, KeyedLog::record_bytes(3, value.size()));
      const auto done = log.put("key", value);
      ASSERT_EQ(told.has_value(), done.has_value());
      if (told) end = *told;
      ASSERT_EQ(log.log.published(), end);
    }
  }
}

TEST(KeyedLogSeam, visit_goes_on_across_the_gap) {
  ExactLog log(512, 8, 128);
  ASSERT_TRUE(log.put("a", std::string(50, 'a')));
  const auto from = log.log.visit(0, [](const Record&) {});
  ASSERT_TRUE(log.put("b", std::string(90, 'b')));
  std::string seen;
  const auto end = log.log.visit(*from, [&](const Record& r) { seen += r.key; });
  ASSERT_TRUE(end);
  EXPECT_EQ(seen, "b");
  EXPECT_EQ(*end, log.log.published());
}

// Bytes that a dead writer left behind `published` may look like a record; after the next append they lie in
// the gap.
TEST(KeyedLogSeam, garbage_in_the_gap_is_no_record) {
  ExactLog log(512, 1, 256);
  ASSERT_TRUE(log.put("a", std::string(50, 'a')));
  const auto published = log.published();
  const auto head = *log.heads();
  ASSERT_TRUE(log.put("ghost", "never published"));
  log.published() = published;  // as if it had died before
  *log.heads() = head;
  ASSERT_TRUE(log.log.adopt());
  ASSERT_TRUE(log.put("b", std::string(190, 'b')));
  EXPECT_EQ(log.count(), 2u);
  EXPECT_EQ(log.get("ghost"), missing());
  EXPECT_EQ(log.get("b"), std::string(190, 'b'));
}

TEST(KeyedLogSeam, adopts_a_record_behind_the_seam) {
  ExactLog log(512, 8, 128);
  ASSERT_TRUE(log.put("key", "old"));
  const std::vector<std::uint32_t> before(log.heads(), log.heads() + 8);
  ASSERT_TRUE(log.put("key", std::string(100, 'n')));
  std::copy(before.begin(), before.end(), log.heads());
  EXPECT_EQ(log.get("key"), "old");
  ASSERT_TRUE(log.log.adopt());
  EXPECT_EQ(log.get("key"), std::string(100, 'n'));
}

// ---- what a killed writer leaves, byte by byte; keyed_log_processes_test.cpp kills real ones

TEST(KeyedLog, a_writer_dead_before_publishing_leaves_nothing) {
  ExactLog log(4096);
  ASSERT_TRUE(log.put("a", "old"));
  std::memset(log.data() + log.published(), 0xee, 200);
  EXPECT_EQ(log.count(), 1u);
  EXPECT_EQ(log.get("a"), "old");
  ASSERT_TRUE(log.log.adopt());
  ASSERT_TRUE(log.put("a", "new"));
  EXPECT_EQ(log.get("a"), "new");
  EXPECT_EQ(log.count(), 2u);
}

TEST(KeyedLog, a_writer_dead_before_the_head_is_adopted) {
  for (const std::uint32_t buckets : {1u, 64u})
    for (const bool first : {true, false}) {
      ExactLog log(4096, buckets);
      if (!first) {
        ASSERT_TRUE(log.put("other", "x"));
        ASSERT_TRUE(log.put("key", "old"));
      }
      const std::vector<std::uint32_t> before(log.heads(), log.heads() + buckets);
      ASSERT_TRUE(log.put("key", "new"));
      std::copy(before.begin(), before.end(), log.heads());

      EXPECT_EQ(log.get("key"), first ? missing() : "old");  // not linked, not wrong
      ASSERT_TRUE(log.log.adopt());
      EXPECT_EQ(log.get("key"), "new");
      ASSERT_TRUE(log.put("later", "y"));
      EXPECT_EQ(log.get("key"), "new");
      EXPECT_EQ(log.get("other"), first ? missing() : "x");
    }
}

TEST(KeyedLog, adopting_a_sound_log_changes_nothing) {
  ExactLog log(4096);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(log.put("k" + std::to_string(i), "v"));
  const std::vector<std::byte> before(log.block.get(), log.block.get() + log.block.size());
  ASSERT_TRUE(log.log.adopt());
  EXPECT_EQ(std::memcmp(before.data(), log.block.get(), before.size()), 0);
}

}  // namespace
}  // namespace weft::store
