// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/card.hpp"

#include "pmix_common.h"
#include "tests/unit/core/store/cards/logs.hpp"

namespace weft::store {
namespace {

using Blob = std::vector<std::byte>;

/// "nspace/rank scope key=value;" of each record, then "!" if it did not end well; with `positions`,
/// "[from,to]" before those of a card.
std::string cards_in(Bytes blobs, bool positions = false) {
  std::string out;
  const auto ok = read_cards(blobs, [&](const Card& card) {
    if (positions) out += '[' + std::to_string(card.from) + ',' + std::to_string(card.to) + ']';
    for (const auto& r : card.records)
      out += std::string(card.nspace) + '/' + std::to_string(card.rank) + ' ' + std::to_string(r.scope) +
             ' ' + std::string(r.key) + '=' + std::string(as_text(r.value)) + ';';
  });
  EXPECT_TRUE(ok || ok.error().code == Errc::corrupt);
  return ok ? out : out + '!';
}

Blob sample(std::string_view nspace, std::uint32_t ranks) {
  BlobWriter blob;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    ExactLog log(1024);
    put(log, PMIX_GLOBAL, "g", "global " + std::to_string(r));
    put(log, PMIX_LOCAL, "l", "stays here");
    put(log, PMIX_REMOTE, "r", "");
    EXPECT_TRUE(blob.add(nspace, r, log.log));
  }
  return std::move(blob).finish();
}

TEST(Card, carries_what_others_may_see) {
  EXPECT_EQ(cards_in(sample("ns", 2)), "ns/0 3 g=global 0;ns/0 2 r=;ns/1 3 g=global 1;ns/1 2 r=;");
}

TEST(Card, of_nothing) {
  EXPECT_EQ(cards_in({}), "");
  EXPECT_EQ(cards_in(BlobWriter().finish()), "");
  BlobWriter blob;
  ExactLog empty(64);
  ASSERT_TRUE(blob.add("ns", 5, empty.log));
  EXPECT_EQ(cards_in(std::move(blob).finish()), "");
}

TEST(Card, that_would_make_the_blob_too_large_is_refused_and_leaves_the_others) {
  ExactLog small(1024), large(4096);
  put(small, PMIX_GLOBAL, "key", "value");
  put(large, PMIX_GLOBAL, "key", "value");
  put(large, PMIX_GLOBAL, "large", std::string(1000, 'x'));
  BlobWriter blob(500);
  ASSERT_TRUE(blob.add("ns", 0, small.log));
  const auto refused = blob.add("ns", 1, large.log);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::no_space);
  ASSERT_TRUE(blob.add("ns", 2, small.log));
  EXPECT_EQ(cards_in(std::move(blob).finish()), "ns/0 3 key=value;ns/2 3 key=value;");
}

TEST(Card, from_a_place_on_carries_the_rest) {
  ExactLog log(1024);
  put(log, PMIX_GLOBAL, "old", "1");
  const auto from = log.log.published();
  put(log, PMIX_GLOBAL, "new", "2");
  const auto to = log.log.published();
  BlobWriter blob;
  EXPECT_EQ(blob.add("ns", 0, log.log, from), to);
  EXPECT_EQ(cards_in(std::move(blob).finish(), true),
            '[' + std::to_string(from) + ',' + std::to_string(to) + "]ns/0 3 new=2;");
}

// A card that moved would tell other nodes of a position without a record to keep it with.
TEST(Card, without_news_for_others_stays_where_it_is) {
  ExactLog log(1024), other(1024);
  put(other, PMIX_GLOBAL, "k", "v");
  BlobWriter blob;
  EXPECT_EQ(blob.add("ns", 0, log.log), 0u);
  put(log, PMIX_LOCAL, "mine", "1");
  EXPECT_EQ(blob.add("ns", 0, log.log), 0u);
  ASSERT_TRUE(blob.add("ns", 1, other.log));
  put(log, PMIX_REMOTE, "yours", "2");
  EXPECT_EQ(blob.add("ns", 0, log.log), log.log.published());
  EXPECT_EQ(cards_in(std::move(blob).finish()), "ns/1 3 k=v;ns/0 2 yours=2;");
}

TEST(Card, of_several_jobs) {
  ExactLog log(1024);
  put(log, PMIX_GLOBAL, "k", "v");
  BlobWriter blob;
  for (const auto* nspace : {"a", "a", "b", "a"}) ASSERT_TRUE(blob.add(nspace, 0, log.log));
  EXPECT_EQ(cards_in(std::move(blob).finish()), "a/0 3 k=v;a/0 3 k=v;b/0 3 k=v;a/0 3 k=v;");
}

TEST(Card, blobs_of_all_nodes_one_after_the_other) {
  auto all = sample("a", 1);
  for (const auto& more : {sample("b", 1), BlobWriter().finish(), sample("c", 2)})
    all.insert(all.end(), more.begin(), more.end());
  EXPECT_EQ(cards_in(all),
            "a/0 3 g=global 0;a/0 2 r=;b/0 3 g=global 0;b/0 2 r=;c/0 3 g=global 0;c/0 2 r=;c/1 3 g=global "
            "1;c/1 2 r=;");
}

TEST(Card, a_card_that_is_corrupt_is_not_carried) {
  ExactLog log(256);
  put(log, PMIX_GLOBAL, "k", "v");
  log.published() = 1000;
  BlobWriter blob;
  EXPECT_EQ(blob.add("ns", 0, log.log).error().code, Errc::corrupt);
}

TEST(Card, cut_anywhere_it_is_corrupt) {
  const auto one = sample("ns", 2);
  auto two = one;
  two.insert(two.end(), one.begin(), one.end());
  const auto whole = cards_in(two);
  for (std::size_t length = 0; length < two.size(); ++length) {
    const testing::ExactBlock exact(std::max<std::size_t>(length, 1));
    std::copy_n(two.begin(), length, exact.get());
    const auto seen = cards_in({exact.get(), length});
    if (length == 0 || length == one.size()) {
      ASSERT_EQ(seen.find('!'), std::string::npos);
      continue;
    }
    ASSERT_EQ(seen.back(), '!') << length;
    ASSERT_EQ(whole.compare(0, seen.size() - 1, seen, 0, seen.size() - 1), 0);  // what came before is good
  }
}

TEST(Card, damage_ends_in_an_answer) {
  testing::Watchdog watchdog;
  testing::Random random;
  const auto good = sample("namespace", 3);
  const testing::ExactBlock exact(good.size());
  std::size_t seen = 0;
  for (unsigned round = 0; round < testing::rounds(100'000); ++round) {
    std::copy(good.begin(), good.end(), exact.get());
    testing::damage(random, exact.get(), exact.size());
    seen += cards_in({exact.get(), exact.size()}).size();
  }
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace weft::store
