// SPDX-License-Identifier: BSD-3-Clause
// Groups of clients of one server, from their requests to the replies.
#include "tests/unit/core/server/groups/one_node_groups.hpp"

namespace weft::server {
namespace {

class GroupRoomsTest : public OneNodeGroups {
 protected:
  static data::Infos leads(std::uint64_t leaders, const Procs& adds) {
    data::Infos out;
    out.add(PMIX_GROUP_BOOTSTRAP, data::Value::of(leaders));
    if (!adds.empty())
      out.add(PMIX_GROUP_ADD_MEMBERS, *data::value_of_array(PMIX_PROC, adds.data(), adds.size()));
    return out;
  }
};

TEST_F(GroupRoomsTest, the_end_of_a_group_that_one_leaves) {
  auto &first = enter(0), &second = enter(1), &leaves = enter(2);
  make_group({&first, &second, &leaves}, PMIX_GROUP_NOTIFY_TERMINATION);
  for (const auto* line : {&first, &second}) {
    request(by(*line), link::GroupDestruct{"group", {}});
    EXPECT_FALSE(status_on(*line));
  }
  request(by(leaves), link::GroupLeave{"group", {}});
  EXPECT_EQ(status_on(leaves), PMIX_SUCCESS);
  EXPECT_EQ(status_on(first), PMIX_SUCCESS);
  EXPECT_EQ(status_on(second), PMIX_SUCCESS);
  EXPECT_EQ(rooms->group_table.size(), 0u) << "it has ended while the leave was told";
}

// ---- bootstraps

/// So many bootstraps fail before rank 2, which their leader has named, has called.
TEST_F(GroupRoomsTest, the_latest_failures_of_bootstraps_are_remembered_however_many_there_were) {
  auto &leader = enter(0), &other = enter(1), &late = enter(2);
  const int names = 1100;
  for (int i = 0; i < names; ++i) {
    const auto group = "group " + std::to_string(i);
    request(by(leader), link::GroupConstruct{group, ranks({0}), leads(2, ranks({2}))});
    leader.turn();
    request(by(other), link::GroupConstruct{group, ranks({1}), leads(3, {})});  // they disagree
    ASSERT_EQ(status_on(leader), PMIX_ERR_BAD_PARAM) << i;
    ASSERT_EQ(status_on(other), PMIX_ERR_BAD_PARAM) << i;
  }
  request(by(late), link::GroupConstruct{"group " + std::to_string(names - 1), {}, {}});
  EXPECT_EQ(status_on(late), PMIX_ERR_BAD_PARAM) << "its call is of the attempt that has failed";
  request(by(late), link::GroupConstruct{"group 0", {}, {}});
  EXPECT_FALSE(status_on(late)) << "of a forgotten one it begins another";
}

/// A leader, and a process that it brings, come when the attempt of the other leader has failed.
TEST_F(GroupRoomsTest, a_leader_that_comes_late_is_in_the_attempt_that_has_failed) {
  auto &leader = enter(0), &other = enter(1), &brought = enter(2);
  const auto lead = [&](const Line& line, std::uint32_t rank, std::initializer_list<std::uint32_t> adds) {
    request(by(line), link::GroupConstruct{"g", ranks({rank}), leads(2, ranks(adds))});
    leader.turn();
  };
  lead(leader, 0, {});
  rooms->bootstraps.lose(proc(0), PMIX_ERR_PROC_ABORTED);
  EXPECT_EQ(status_on(leader), PMIX_ERR_PROC_ABORTED);
  request(by(brought), link::GroupConstruct{"g", {}, {}});
  EXPECT_EQ(status_on(brought), PMIX_ERR_PROC_ABORTED);
  lead(other, 1, {2});
  EXPECT_EQ(status_on(other), PMIX_ERR_PROC_ABORTED);
  lead(leader, 0, {});
  lead(other, 1, {2});
  EXPECT_FALSE(status_on(leader)) << "of the next attempt, which waits for rank 2";
  request(by(brought), link::GroupConstruct{"g", {}, {}});
  EXPECT_EQ(status_on(brought), PMIX_SUCCESS);
  EXPECT_EQ(status_on(leader), PMIX_SUCCESS);
  EXPECT_EQ(status_on(other), PMIX_SUCCESS);
}

/// Once processes of the failed attempt have called again.
TEST_F(GroupRoomsTest, a_leader_that_comes_late_is_in_the_next_attempt_where_that_has_begun) {
  auto &leader = enter(0), &other = enter(1);
  request(by(leader), link::GroupConstruct{"g", ranks({0}), leads(2, ranks({2}))});
  rooms->bootstraps.lose(proc(2), PMIX_ERR_PROC_ABORTED);
  leader.turn();
  EXPECT_EQ(status_on(leader), PMIX_ERR_PROC_ABORTED);
  request(by(leader), link::GroupConstruct{"g", ranks({0}), leads(2, {})});
  leader.turn();
  request(by(other), link::GroupConstruct{"g", ranks({1}), leads(2, {})});
  EXPECT_EQ(status_on(other), PMIX_SUCCESS);
  EXPECT_EQ(status_on(leader), PMIX_SUCCESS);
}

TEST_F(GroupRoomsTest, a_bootstrap_is_not_taken_for_one_whose_name_goes_on) {
  auto& leader = enter(0);
  const auto is_in = [&](const FenceName& name) { return rooms->bootstraps.has_called(name, proc(0)); };
  for (const char* group : {"a", "a (b", "a (b called)", "a (1 of 2 leaders have called)"}) {
    request(by(leader), link::GroupConstruct{group, ranks({0}), leads(2, {})});
    leader.turn();
    auto open = rooms->group_reports.open_parts();
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(to_text(open.front().name.operation), std::string("bootstrap of group ") + group);
    EXPECT_EQ(open.front().remark, " (1 of 2 leaders have called)");
    EXPECT_TRUE(is_in(open.front().name)) << group;
    auto other = open.front().name;
    other.operation.group += " (c called)";
    EXPECT_FALSE(is_in(other)) << to_text(other.operation) << " is another group's";
    rooms->bootstraps.lose(proc(0), PMIX_ERR_PROC_ABORTED);
    leader.turn();
    (void)status_on(leader);
    rooms->bootstraps.forget("job");
    ASSERT_TRUE(rooms->group_reports.open_parts().empty());
  }
}

}  // namespace
}  // namespace weft::server
