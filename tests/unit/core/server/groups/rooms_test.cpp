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

TEST_F(GroupRoomsTest, a_bootstrap_is_not_taken_for_one_whose_name_goes_on) {
  auto& leader = enter(0);
  const auto arrived_in = [&](const FenceName& name) { return rooms->bootstraps.part_in(name).arrived; };
  for (const char* group : {"a", "a (b", "a (b called)", "a (1 of 2 leaders have called)"}) {
    request(by(leader), link::GroupConstruct{group, ranks({0}), leads(2, {})});
    leader.turn();
    auto open = rooms->group_reports.open_parts();
    ASSERT_EQ(open.size(), 1u);
    EXPECT_EQ(to_text(open.front().name.operation), std::string("bootstrap of group ") + group);
    EXPECT_EQ(open.front().remark, " (1 of 2 leaders have called)");
    EXPECT_EQ(arrived_in(open.front().name), 1u) << group;
    auto other = open.front().name;
    other.operation.group += " (c called)";
    EXPECT_EQ(arrived_in(other), 0u) << to_text(other.operation) << " is another group's";
    rooms->bootstraps.lose(proc(0), PMIX_ERR_PROC_ABORTED);
    leader.turn();
    (void)status_on(leader);
    rooms->bootstraps.forget("job");
    ASSERT_TRUE(rooms->group_reports.open_parts().empty());
  }
}

}  // namespace
}  // namespace weft::server
