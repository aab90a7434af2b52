// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/distribution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/tools/launch/sample_messages.hpp"

namespace weft::placement {
namespace {

using job::Rank;
using messages::Stop;

std::vector<std::uint32_t> nodes_of(const RankTable& table) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t r = 0; r < table.size(); ++r) nodes.push_back(table.node_of(Rank{r}));
  return nodes;
}
using Nodes = std::vector<std::uint32_t>;

TEST(Distribution, by_slot) {
  const RankTable table({{{RankBy::slot, 0, {2, 1, 3}}}, 3});
  EXPECT_EQ(nodes_of(table), (Nodes{0, 0, 1, 2, 2, 2}));
}

TEST(Distribution, by_node) {
  const RankTable table({{{RankBy::node, 0, {2, 1, 3}}}, 3});
  EXPECT_EQ(nodes_of(table), (Nodes{0, 1, 2, 0, 2, 2}));
}

TEST(Distribution, an_app_begins_at_its_first_node_and_goes_round) {
  EXPECT_EQ(nodes_of(RankTable({{{RankBy::slot, 2, {2, 1, 3}}}, 3})), (Nodes{2, 2, 2, 0, 0, 1}));
  EXPECT_EQ(nodes_of(RankTable({{{RankBy::node, 1, {2, 1, 3}}}, 3})), (Nodes{1, 2, 0, 2, 0, 2}));
}

TEST(Distribution, a_list_says_the_node_of_each_rank) {
  const Distribution listed{{{RankBy::listed, 0, {1, 0, 3}, {2, 2, 0, 2}}, {RankBy::slot, 0, {1, 1, 0}}}, 3};
  EXPECT_EQ(nodes_of(RankTable(listed)), (Nodes{2, 2, 0, 2, 0, 1}));
  EXPECT_EQ(encode(listed), "3;list:2x2,1x0,1x2;slot@0:2x1,1x0");
  EXPECT_EQ(decode_distribution(encode(listed), 3, 6), listed);
  EXPECT_THROW(decode_distribution(encode(listed), 3, 5), Stop);
  for (const char* bad : {"3;list:", "3;list:1x3", "3;list:0x1", "3;list:1x1,", "3;list:9x1"})
    EXPECT_THROW(decode_distribution(bad, 3, 6), Stop) << bad;
}

TEST(Distribution, apps_follow_each_other) {
  const RankTable table(
      {{{RankBy::slot, 0, {1, 1}}, {RankBy::node, 0, {0, 0}}, {RankBy::node, 1, {1, 2}}}, 2});
  EXPECT_EQ(nodes_of(table), (Nodes{0, 1, 1, 0, 1}));
  EXPECT_EQ(table.app_of(Rank{1}), 0U);
  EXPECT_EQ(table.app_of(Rank{2}), 2U);  // the empty one in between has no rank
  EXPECT_EQ(table.app_of(Rank{4}), 2U);
  EXPECT_EQ(table.first_rank_of(2), Rank{2});
  EXPECT_EQ(table.local_rank_of(Rank{4}), 2U);
}

Distribution random_distribution(std::mt19937& random) {
  Distribution made;
  made.nodes = 1 + random() % 30;
  for (unsigned a = 0, n = 1 + random() % 4; a < n; ++a) {
    Distribution::AppShare app{random() % 2 == 0 ? RankBy::slot : RankBy::node,
                               static_cast<std::uint32_t>(random() % made.nodes),
                               {}};
    const auto usual = random() % 6;
    for (std::uint32_t i = 0; i < made.nodes; ++i)
      app.counts.push_back(static_cast<std::uint32_t>(random() % 3 == 0 ? random() % 9 : usual));
    made.apps.push_back(std::move(app));
  }
  return made;
}

TEST(Distribution, every_rank_is_in_one_place_and_all_answers_agree) {
  std::mt19937 random(21);
  for (int i = 0; i < 2000; ++i) {
    const auto made = random_distribution(random);
    const RankTable table(made);
    ASSERT_EQ(table.size(), made.size());
    std::vector<unsigned> seen(table.size());
    std::vector<Nodes> counts(made.apps.size(), Nodes(made.nodes));
    for (std::uint32_t node = 0; node < table.nodes(); ++node) {
      const auto here = table.ranks_on(node);
      ASSERT_TRUE(std::is_sorted(here.begin(), here.end()));
      for (std::size_t k = 0; k < here.size(); ++k) {
        ++seen.at(index(here[k]));
        ASSERT_EQ(table.node_of(here[k]), node);
        ASSERT_EQ(table.local_rank_of(here[k]), k);
        ++counts.at(table.app_of(here[k])).at(node);
      }
    }
    ASSERT_TRUE(std::all_of(seen.begin(), seen.end(), [](unsigned n) { return n == 1; }));
    for (std::size_t a = 0; a < made.apps.size(); ++a) ASSERT_EQ(counts[a], made.apps[a].counts);
    ASSERT_EQ(decode_distribution(encode(made), made.nodes, made.size()), made) << encode(made);
  }
}

TEST(Distribution, text_is_short) {
  const Distribution large{{{RankBy::slot, 0, Nodes(10'000, 128)}}, 10'000};
  EXPECT_EQ(encode(large), "10000;slot@0:10000x128");
  EXPECT_EQ(encode({{{RankBy::slot, 0, {4, 4, 2}}, {RankBy::node, 1, {3, 3, 3}}}, 3}),
            "3;slot@0:2x4,1x2;node@1:3x3");
}

TEST(Distribution, bounds_are_kept) {
  const std::string text = "3;slot@0:2x4,1x2";
  EXPECT_NO_THROW(decode_distribution(text, 3, 10));
  EXPECT_THROW(decode_distribution(text, 2, 10), Stop);
  EXPECT_THROW(decode_distribution(text, 3, 9), Stop);
  for (const char* wrong :
       {"", "0", "x", "3;", "3;slot@3:3x1", "3;slot@0:2x4", "3;slot@0:4x1", "3;slot@0:0x1,3x1",
        "3;slot@0:3x1,", "3;slot@0:3x1;", "3;core@0:3x1", "3;slot@0:3x", "3;slot@0:3x-1",
        "3;slot@0:2x4294967295,1x1", "3;slot@0:3x1 ", "99999999999999999999"}) {
    EXPECT_THROW(decode_distribution(wrong, 1000, 1000), Stop) << wrong;
  }
}

TEST(Distribution, a_million_ranks_are_a_table_quickly) {
  const RankTable table({{{RankBy::node, 0, Nodes(10'000, 100)}}, 10'000});
  EXPECT_EQ(table.size(), 1'000'000U);
  EXPECT_EQ(table.node_of(Rank{999'999}), 9'999U);
  EXPECT_EQ(table.ranks_on(1)[1], Rank{10'001});
}

}  // namespace
}  // namespace weft::placement
