// SPDX-License-Identifier: BSD-3-Clause
// The parts of weftbench that need no job.
#include <gtest/gtest.h>

#include "bench/weftbench/neighbours.hpp"
#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {
namespace {

using Ranks = std::vector<unsigned>;

TEST(ParseRanks, a_list_comes_out_rising_and_once) {
  EXPECT_EQ(parse_ranks("0", 1), Ranks{0});
  EXPECT_EQ(parse_ranks("2,0,1", 4), (Ranks{0, 1, 2}));
  EXPECT_EQ(parse_ranks("3,3,1", 4), (Ranks{1, 3}));
}

TEST(ParseRanks, anything_else_is_refused) {
  for (const char* text :
       {"", ",", "0,", ",0", "0,,1", " 0", "0 ,1", "0-3", "-1", "x", "0;1", "4294967296"}) {
    EXPECT_EQ(parse_ranks(text, 100), std::nullopt) << text;
  }
}

TEST(ParseRanks, a_rank_that_the_job_does_not_have_is_refused) {
  EXPECT_EQ(parse_ranks("0,3", 4), (Ranks{0, 3}));
  EXPECT_EQ(parse_ranks("0,4", 4), std::nullopt);
}

TEST(Strangers, begin_with_the_same_place_on_the_next_node) {
  EXPECT_EQ(strangers_of(0, {0, 1}, 6), (Ranks{2, 3, 4, 5}));
  EXPECT_EQ(strangers_of(1, {0, 1}, 6), (Ranks{3, 4, 5, 2}));
  EXPECT_EQ(strangers_of(5, {4, 5}, 6), (Ranks{1, 2, 3, 0}));
}

TEST(Strangers, every_other_rank_is_there_once) {
  EXPECT_EQ(strangers_of(3, {0, 3}, 5),
            (Ranks{1, 2, 4}));  // ranks dealt out by turns, and nodes unlike each other
  EXPECT_EQ(strangers_of(1, {0, 1, 2}, 3), Ranks{});
  EXPECT_EQ(strangers_of(0, {0}, 1), Ranks{});
}

TEST(SlowestOf, of_each_repeat_the_slowest_rank) {
  EXPECT_EQ(slowest_of({{1, 5, 2}, {4, 3, 2}}), (std::vector<double>{4, 5, 2}));
  EXPECT_EQ(slowest_of({{}, {1, 2}, {3}}), (std::vector<double>{3, 2}));
  EXPECT_TRUE(slowest_of({}).empty());
}

}  // namespace
}  // namespace weft::bench
