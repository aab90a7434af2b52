// SPDX-License-Identifier: BSD-3-Clause
// What comes for a group before it is made here, and processes of a group that are on their way out.
#include "core/server/groups/open/early_messages.hpp"

#include "tests/unit/core/server/groups/one_node_groups.hpp"

namespace weft::server {
namespace {

using EarlyMessagesTest = OneNodeGroups;

TEST_F(EarlyMessagesTest, a_group_is_expected_as_long_as_it_may_have_been_made_elsewhere) {
  auto& early = rooms->early_messages;
  EXPECT_FALSE(early.is_expected("g"));
  auto expected = early.expect("g");
  const auto also = early.expect("g");
  EXPECT_TRUE(early.is_expected("g"));
  EXPECT_FALSE(early.is_expected("h"));
  expected.reset();
  EXPECT_TRUE(early.is_expected("g")) << "another expects it";
}

TEST_F(EarlyMessagesTest, is_taken_in_its_order_and_of_that_group_alone) {
  auto& early = rooms->early_messages;
  std::string taken;
  for (const auto* group : {"g", "h", "g"}) early.keep({group, [&taken, group] { taken += group; }});
  early.take("g");
  EXPECT_EQ(taken, "gg");
  ASSERT_EQ(early.kept().size(), 1u);
  EXPECT_EQ(early.kept().front().group, "h");
  early.take("g");
  EXPECT_EQ(taken, "gg") << "each once";
}

TEST_F(EarlyMessagesTest, what_comes_too_early_again_is_kept) {
  auto& early = rooms->early_messages;
  early.keep({"g", [&] { early.keep({"g", [] { FAIL() << "taken with what it came from"; }}); }});
  early.take("g");
  EXPECT_EQ(early.kept().size(), 1u);
}

TEST_F(EarlyMessagesTest, a_process_leaves_one_group_from_its_request_to_its_answer) {
  auto& table = rooms->group_table;
  table.begin_leave("g", proc(1));
  EXPECT_TRUE(table.is_leaving("g", proc(1)));
  EXPECT_FALSE(table.is_leaving("g", proc(0)) || table.is_leaving("h", proc(1)));
  table.end_leave("g", proc(1));
  EXPECT_FALSE(table.is_leaving("g", proc(1)));
}

TEST_F(EarlyMessagesTest, a_process_whose_leave_is_over_leaves_no_more) {
  auto &stays = enter(0), &leaves = enter(1);
  make_group({&stays, &leaves}, PMIX_GROUP_NOTIFY_TERMINATION);
  request(by(leaves), link::GroupLeave{"group", {}});
  EXPECT_EQ(status_on(leaves), PMIX_SUCCESS);
  EXPECT_FALSE(rooms->group_table.is_leaving("group", proc(1)));
}

}  // namespace
}  // namespace weft::server
