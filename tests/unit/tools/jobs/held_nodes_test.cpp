// SPDX-License-Identifier: BSD-3-Clause
// When all ranks that are to stop for a debugger have, on all nodes.
#include "tools/jobs/held_nodes.hpp"

#include <gtest/gtest.h>

namespace weft::jobs {
namespace {

using job::StopPoint;

TEST(HeldNodes, the_last_node_completes_the_job) {
  HeldNodes nodes;
  for (const auto node : {0U, 2U}) nodes.expect(StopPoint::exec, node);
  EXPECT_FALSE(nodes.held(1, {StopPoint::exec, "x", 5}));
  EXPECT_FALSE(nodes.held(2, {StopPoint::exec, "x", 5}));
  EXPECT_FALSE(nodes.held(2, {StopPoint::exec, "x", 5}));
  const auto all = nodes.held(0, {StopPoint::exec, "y", 3});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->ranks, 8U);
  EXPECT_EQ(all->breakpoint, "x");
}

TEST(HeldNodes, a_lost_node_is_waited_for_no_longer) {
  HeldNodes nodes;
  for (const auto node : {0U, 1U}) nodes.expect(StopPoint::init, node);
  EXPECT_FALSE(nodes.held(0, {StopPoint::init, "x", 2}));
  const auto completed = nodes.lost(1);
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(completed[0].ranks, 2U);
  EXPECT_TRUE(nodes.lost(1).empty());
}

TEST(HeldNodes, where_no_rank_is_left_nothing_is_ready) {
  HeldNodes nodes;
  for (const auto node : {0U, 1U}) nodes.expect(StopPoint::init, node);
  EXPECT_FALSE(nodes.held(0, {StopPoint::init, "", 0}));
  EXPECT_TRUE(nodes.lost(1).empty());
}

TEST(HeldNodes, a_rank_that_is_heard_of_after_its_end_makes_the_job_ready) {
  HeldNodes nodes;
  for (const auto node : {0U, 1U}) nodes.expect(StopPoint::init, node);
  EXPECT_FALSE(nodes.held(0, {StopPoint::init, "", 0}));
  EXPECT_FALSE(nodes.held(1, {StopPoint::init, "", 0}));
  const auto late = nodes.held(1, {StopPoint::init, "x", 1});
  ASSERT_TRUE(late);
  EXPECT_EQ(late->ranks, 1U);
  EXPECT_EQ(late->breakpoint, "x");
}

TEST(HeldNodes, a_job_is_ready_once_and_a_report_takes_the_place_of_that_node_s_former) {
  HeldNodes nodes;
  for (const auto node : {0U, 1U}) nodes.expect(StopPoint::init, node);
  EXPECT_FALSE(nodes.held(0, {StopPoint::init, "x", 1}));
  EXPECT_FALSE(nodes.held(0, {StopPoint::init, "x", 2}));
  EXPECT_EQ(nodes.held(1, {StopPoint::init, "x", 4})->ranks, 6U);
  EXPECT_FALSE(nodes.held(1, {StopPoint::init, "x", 5}));
}

}  // namespace
}  // namespace weft::jobs
