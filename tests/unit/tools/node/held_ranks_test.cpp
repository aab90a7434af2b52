// SPDX-License-Identifier: BSD-3-Clause
// When all ranks that are to stop for a debugger have, on one node.
#include "tools/node/held_ranks.hpp"

#include <gtest/gtest.h>

namespace weft::node {
namespace {

using job::Rank;
using job::StopPoint;

TEST(HeldRanks, the_last_rank_completes_its_point) {
  HeldRanks ranks;
  for (const auto rank : {Rank{1}, Rank{3}}) ranks.expect(StopPoint::init, rank);
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{1}, "x"));
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{1}, "x"));
  const auto all = ranks.held(StopPoint::init, Rank{3}, "y");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ranks, 2U);
  EXPECT_EQ(all->breakpoint, "x");
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{3}, "y"));
}

TEST(HeldRanks, a_rank_that_is_not_to_stop_changes_nothing) {
  HeldRanks ranks;
  ranks.expect(StopPoint::app, Rank{1});
  EXPECT_FALSE(ranks.held(StopPoint::app, Rank{0}, "x"));
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{1}, "x"));
  EXPECT_TRUE(ranks.ended(Rank{0}).empty());
  EXPECT_TRUE(ranks.held(StopPoint::app, Rank{1}, "x"));
}

TEST(HeldRanks, a_rank_that_ends_is_waited_for_no_longer) {
  HeldRanks ranks;
  for (const auto rank : {Rank{1}, Rank{3}})
    for (const auto point : {StopPoint::init, StopPoint::app}) ranks.expect(point, rank);
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{1}, "x"));
  const auto completed = ranks.ended(Rank{3});
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(completed[0].point, StopPoint::init);
  EXPECT_EQ(completed[0].ranks, 1U);
  const auto rest = ranks.ended(Rank{1});
  ASSERT_EQ(rest.size(), 1U);
  EXPECT_EQ(rest[0].point, StopPoint::app);
  EXPECT_EQ(rest[0].ranks, 0U);
}

TEST(HeldRanks, a_rank_that_was_let_go_and_has_ended_had_stopped_all_the_same) {
  HeldRanks ranks;
  for (const auto rank : {Rank{1}, Rank{3}}) ranks.expect(StopPoint::init, rank);
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{1}, "x"));
  EXPECT_TRUE(ranks.ended(Rank{1}).empty());
  const auto completed = ranks.ended(Rank{3});
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(completed[0].ranks, 1U);
}

TEST(HeldRanks, what_a_rank_has_said_counts_when_its_end_is_heard_of_first) {
  HeldRanks ranks;
  for (const auto rank : {Rank{1}, Rank{3}}) ranks.expect(StopPoint::init, rank);
  EXPECT_TRUE(ranks.ended(Rank{1}).empty());
  EXPECT_EQ(ranks.ended(Rank{3}).front().ranks, 0U);
  EXPECT_TRUE(ranks.expects(StopPoint::init, Rank{3}));
  const auto late = ranks.held(StopPoint::init, Rank{3}, "x");
  ASSERT_TRUE(late);
  EXPECT_EQ(late->ranks, 1U);
  EXPECT_EQ(late->breakpoint, "x");
  EXPECT_FALSE(ranks.held(StopPoint::init, Rank{3}, "x"));
  EXPECT_EQ(ranks.held(StopPoint::init, Rank{1}, "x")->ranks, 2U);
}

TEST(HeldRanks, a_long_name_of_a_point_is_cut) {
  HeldRanks ranks;
  ranks.expect(StopPoint::app, Rank{0});
  EXPECT_EQ(ranks.held(StopPoint::app, Rank{0}, std::string(1000, 'x'))->breakpoint.size(),
            job::longest_breakpoint);
}

}  // namespace
}  // namespace weft::node
