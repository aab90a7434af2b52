// SPDX-License-Identifier: BSD-3-Clause
// What the reports of several servers come to, of what one lost server had kept for all. How servers agree,
// with losses on the way: tests/schedules.
#include <gtest/gtest.h>

#include "core/server/groups/invitation/invited.hpp"
#include "core/server/groups/membership/bootstraps.hpp"

namespace weft::server {
namespace {

template <class Item>
std::vector<Item> decided(const std::map<NodeNumber, std::vector<Item>>& reports) {
  ViewRoom::Reports bytes;
  for (const auto& [node, items] : reports) bytes.emplace(node, base::encode(ViewItems<Item>{items}));
  return ViewRoomOf<Item>::decided(bytes);
}

const link::RankRuns all{{"job", 0, 3}};

// ---- invitations

/// As the server of that node reports it: ranks of its own, which may come.
InvitationItem reported_by(NodeNumber node, const link::RankRuns& invited) {
  InvitationItem out;
  out.is_open = !invited.empty();
  out.told.name = {0, 7};
  out.told.invited = invited;
  out.told.members = all;
  out.coordinator = node;
  return out;
}

TEST(InvitationItems, the_lowest_node_with_processes_coordinates) {
  const auto items = decided<InvitationItem>({{1, {reported_by(1, {})}},
                                              {2, {reported_by(2, {{"job", 2, 2}})}},
                                              {3, {reported_by(3, {{"job", 3, 3}})}}});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].coordinator, 2u);
  EXPECT_EQ(items[0].told.invited, (link::RankRuns{{"job", 2, 3}}));
  EXPECT_FALSE(items[0].end);
}

TEST(InvitationItems, a_coordinator_that_was_named_before_stays) {
  auto knows = reported_by(3, {{"job", 3, 3}});
  knows.is_open = false;
  knows.is_settled = true;
  knows.coordinator = 2;
  const auto items = decided<InvitationItem>({{1, {reported_by(1, {{"job", 1, 1}})}}, {3, {knows}}});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].coordinator, 2u);
}

TEST(InvitationItems, what_one_server_has_heard_is_the_end_and_a_group_before_all) {
  auto failed = reported_by(1, {}), made = reported_by(3, {});
  failed.end = InvitationEnd{{0, 7}, {}, PMIX_ERR_TIMEOUT};
  made.end = InvitationEnd{{0, 7}, {}, PMIX_SUCCESS, MadeGroup{"g", {}, {}}};
  const auto open = reported_by(2, {{"job", 2, 2}});
  auto items = decided<InvitationItem>({{1, {failed}}, {2, {open}}});
  ASSERT_EQ(items.size(), 1u);
  ASSERT_TRUE(items[0].end);
  EXPECT_EQ(items[0].end->status, PMIX_ERR_TIMEOUT);
  items = decided<InvitationItem>({{1, {failed}}, {2, {open}}, {3, {made}}});
  ASSERT_TRUE(items[0].end && items[0].end->made);
  EXPECT_TRUE(decided<InvitationItem>({{1, {failed}}, {3, {made}}}).empty()) << "no server waits";
}

TEST(InvitationItems, members_of_all_reports_are_invited_those_of_the_longest_first) {
  auto few = reported_by(1, {{"job", 1, 1}}), many = reported_by(2, {{"job", 2, 2}});
  few.told.members = {{"job", 0, 0}, {"job", 9, 9}};
  const auto items = decided<InvitationItem>({{1, {few}}, {2, {many}}});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].told.members, (link::RankRuns{{"job", 0, 3}, {"job", 9, 9}}));
}

// ---- members

MembersItem version(std::uint64_t number, NodeNumber keeper, bool is_open) {
  return {is_open, is_open, "g", {all, 0, {}, keeper, number}};
}

TEST(MembersItems, the_newest_version_holds) {
  const auto items = decided<MembersItem>({{1, {version(3, 1, true)}}, {2, {version(4, 1, true)}}});
  ASSERT_EQ(items.size(), 1u);
  EXPECT_EQ(items[0].group.version, 4u);
}

TEST(MembersItems, of_two_that_are_as_new_the_one_that_a_server_has) {
  for (const auto& items :
       {decided<MembersItem>({{1, {version(4, 1, true)}}, {2, {version(4, 2, false)}}}),
        decided<MembersItem>({{1, {version(4, 2, false)}}, {2, {version(4, 1, true)}}})}) {
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].group.keeper, 2u);
  }
}

/// One that asks because a request waits has the version, and the others do not.
TEST(MembersItems, a_version_that_a_server_has_holds_though_it_asks) {
  auto asks = version(4, 2, false);
  asks.is_open = true;
  for (const auto& items : {decided<MembersItem>({{1, {version(4, 1, true)}}, {2, {asks}}}),
                            decided<MembersItem>({{1, {asks}}, {2, {version(4, 1, true)}}})}) {
    ASSERT_EQ(items.size(), 1u);
    EXPECT_EQ(items[0].group.keeper, 2u);
    EXPECT_FALSE(items[0].is_next);
  }
}

TEST(MembersItems, of_two_groups_with_one_name_each_has_its_own_version) {
  auto ended = version(5, 1, true), now = version(2, 2, true);
  ended.group.origin = 7;
  now.group.origin = 8;
  const auto items = decided<MembersItem>({{1, {ended}}, {2, {now}}});
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].group.version, 5u);
  EXPECT_EQ(items[1].group.version, 2u);
}

TEST(MembersItems, without_a_lost_keeper_nothing_is_decided) {
  EXPECT_TRUE(decided<MembersItem>({{1, {version(4, 1, false)}}, {2, {version(3, 1, false)}}}).empty());
}

TEST(MembersItems, a_request_is_made_where_the_group_is_what_it_wants) {
  const Group group{all, 0, {}, 0, 1};
  const auto wants = [](ChangeRequest::Kind kind, std::uint32_t rank) {
    return ChangeRequest{kind, "g", {{"job", rank, rank}}, {}, 0};
  };
  EXPECT_TRUE(wants(ChangeRequest::Kind::join, 3).is_made(group));
  EXPECT_FALSE(wants(ChangeRequest::Kind::join, 4).is_made(group));
  EXPECT_TRUE(wants(ChangeRequest::Kind::leave, 4).is_made(group));
  EXPECT_FALSE(wants(ChangeRequest::Kind::leave, 3).is_made(group));
}

// ---- bootstraps

TEST(BootstrapItems, all_groups_of_a_name_that_were_brought_together_are_told) {
  const BootstrapEnd end{.callers = all, .members = all}, other{.number = 1, .callers = {{"other", 0, 1}}};
  const auto items = decided<BootstrapItem>({{1, {{true, "g"}, {true, "h"}}},
                                             {2, {{false, "g", {end}}}},
                                             {3, {{false, "g", {other}}, {false, "i", {end}}}}});
  ASSERT_EQ(items.size(), 2u) << "of the third no call waits";
  EXPECT_EQ(items[0].group, "g");
  ASSERT_EQ(items[0].made.size(), 2u);
  EXPECT_EQ(items[0].made[0].callers, all);
  EXPECT_EQ(items[0].made[1].callers, other.callers);
  EXPECT_TRUE(items[1].made.empty());
}

TEST(BootstrapItems, the_latest_attempt_that_has_failed_is_remembered_with_all_that_have_heard_so) {
  const auto failed = [](std::uint64_t number, std::uint32_t late) {
    return FailedBootstrap{.end = {.number = number, .status = PMIX_ERR_TIMEOUT},
                           .late = {{"job", late, late}}};
  };
  const auto items = decided<BootstrapItem>({{1, {{true, "g", {}, failed(2, 1)}}},
                                             {2, {{true, "g", {}, failed(3, 2)}}},
                                             {3, {{true, "g", {}, failed(3, 3)}}},
                                             {4, {{true, "g", {}, failed(1, 4)}}}});
  ASSERT_EQ(items.size(), 1u);
  ASSERT_TRUE(items[0].failed);
  EXPECT_EQ(items[0].failed->end.number, 3u);
  EXPECT_EQ(items[0].failed->late, (link::RankRuns{{"job", 2, 2}, {"job", 3, 3}}));
}

TEST(ViewItems, what_a_server_says_that_makes_no_sense_says_nothing) {
  ViewRoom::Reports bytes;
  bytes[1] = base::encode(ViewItems<MembersItem>{{version(3, 1, true)}});
  bytes[2] = {std::byte{1}, std::byte{0}, std::byte{9}};
  EXPECT_EQ(ViewRoomOf<MembersItem>::decided(bytes).size(), 1u);
}

}  // namespace
}  // namespace weft::server
