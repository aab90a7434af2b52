// SPDX-License-Identifier: BSD-3-Clause
// What the reports of a view come to. How servers agree, with losses on the way: tests/schedules.
#include "core/server/cluster/views.hpp"

#include <gtest/gtest.h>

namespace weft::server {
namespace {

using CollectiveEnd = collectives::End;
using collectives::Signature;
using collectives::Why;

constexpr Signature one_signature{1, 1}, other_signature{2, 2};

CollectiveEnd is_undecided(const Signature& of, NodeNumber lost) {
  return {of, 1, Why::lost, 0, lost};
}
CollectiveEnd ended_well(const Signature& of) {
  return {.signature = of, .generation = 1, .is_well = 1};
}
CollectiveEnd has_failed(const Signature& of, Why why) {
  return {.signature = of, .generation = 1, .why = why};
}

TEST(Views, what_has_ended_well_anywhere_ends_well_everywhere) {
  const auto decisions = Views::decide({{0, {{{is_undecided(one_signature, 3)}, {}}}},
                                        {1, {{{}, {has_failed(one_signature, Why::of_callers)}}}},
                                        {2, {{{}, {ended_well(one_signature)}}}},
                                        {4, {{{}, {ended_well(one_signature)}}}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.is_well, 1);
  EXPECT_EQ(decisions[0].holder, 2u);
}

TEST(Views, what_has_failed_somewhere_fails_so) {
  const auto decisions = Views::decide({{0, {{{is_undecided(one_signature, 3)}, {}}}},
                                        {1, {{{}, {has_failed(one_signature, Why::invalid)}}}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.is_well, 0);
  EXPECT_EQ(decisions[0].end.why, Why::invalid);
}

TEST(Views, what_has_ended_nowhere_fails_with_the_lowest_of_the_lost) {
  const auto decisions =
      Views::decide({{0, {{{is_undecided(one_signature, 5), is_undecided(other_signature, 5)}, {}}}},
                     {1, {{{is_undecided(one_signature, 3)}, {ended_well(Signature{9, 9})}}}}});
  ASSERT_EQ(decisions.size(), 2u);
  EXPECT_EQ(decisions[0].end.lost, 3u);
  EXPECT_EQ(decisions[0].end.why, Why::lost);
  EXPECT_EQ(decisions[1].end.lost, 5u);
}

TEST(Views, the_highest_that_a_server_asks_for_is_what_follows_a_loss) {
  using collectives::AfterLoss;
  const auto asks_for = [](AfterLoss what, NodeNumber here) {
    return CollectiveEnd{one_signature, 1, Why::lost, 0, 3, what, here};
  };
  const auto decisions = Views::decide({{1, {{{asks_for(AfterLoss::fails, 1)}, {}}}},
                                        {2, {{{asks_for(AfterLoss::asks, 2)}, {}}}},
                                        {4, {{{asks_for(AfterLoss::fails, 4)}, {}}}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.after_loss, AfterLoss::asks);
  EXPECT_EQ(decisions[0].end.first, 1u) << "the lowest that had it open";
}

TEST(Views, what_was_agreed_on_for_others_holds_for_a_server_that_comes_late) {
  using collectives::AfterLoss;
  const CollectiveEnd agreed{one_signature, 1, Why::lost, 0, 3, AfterLoss::fails, 0};
  const CollectiveEnd late{one_signature, 1, Why::lost, 0, 3, AfterLoss::goes_on, 2};
  const auto decisions = Views::decide({{0, {{{}, {agreed}}}}, {2, {{{late}, {}}}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.after_loss, AfterLoss::fails);
  EXPECT_EQ(decisions[0].end.first, 0u);
}

TEST(Views, what_is_given_up_fails_so_unless_it_has_ended_well_somewhere) {
  CollectiveEnd given_up{one_signature, 1, Why::of_callers};
  auto decisions = Views::decide({{0, {{{given_up}, {}}}}, {1, {{{given_up}, {}}}}, {2, {}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.is_well, 0);
  EXPECT_EQ(decisions[0].end.why, Why::of_callers);
  EXPECT_EQ(decisions[0].end.lost, collectives::MessageHeader::no_node);
  decisions = Views::decide({{0, {{{given_up}, {}}}}, {2, {{{}, {ended_well(one_signature)}}}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.is_well, 1);
  EXPECT_EQ(decisions[0].holder, 2u);
}

TEST(Views, another_generation_is_another_collective) {
  auto before = ended_well(one_signature);
  auto now = is_undecided(one_signature, 3);
  now.generation = 2;
  const auto decisions = Views::decide({{0, {{{now}, {}}}}, {1, {{{}, {before}}}}});
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].end.is_well, 0);
}

}  // namespace
}  // namespace weft::server
