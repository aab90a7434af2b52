// SPDX-License-Identifier: BSD-3-Clause
// Groups across the nodes of a cluster. The members: group_programs.cpp.
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

class ClusterGroupTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterGroupTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterGroupTest, its_name_in_every_call) {
  run("uses_a_group");
}
TEST_P(ClusterGroupTest, groups_of_other_processes) {
  run("asks_for_groups_of_all");
}
TEST_P(ClusterGroupTest, members_name_it_in_many_ways) {
  run("names_it_in_many_ways");
}
TEST_P(ClusterGroupTest, many_at_once_and_fences) {
  run("makes_many_at_once", 4);
}
TEST_P(ClusterGroupTest, many_at_once_by_message) {
  run("makes_many_at_once", 2, Segment::refused);
}
TEST_P(ClusterGroupTest, data_of_members) {
  run("gives_data");
}
TEST_P(ClusterGroupTest, a_member_comes_too_late) {
  run("one_comes_too_late", 2);
}
TEST_P(ClusterGroupTest, two_jobs) {
  run("connects_two_jobs");
}
TEST_P(ClusterGroupTest, what_is_stuck_is_reported_with_the_missing_ranks) {
  const std::pair<const char*, const char*> cases[] = {{"construct", "construct of group late of wide"},
                                                       {"destruct", "destruct of group late of wide"},
                                                       {"connect", "connect of wide"},
                                                       {"disconnect", "disconnect of wide"}};
  for (const auto& [what, title] : cases) {
    Cluster cluster(3, Segment::mapped, "last_is_late_for", reports_soon(over()), true, {what});
    cluster.go();
    const auto text = cluster.nodes[0].wait_for_error("missing: 5 (rank 5 pid");
    EXPECT_NE(text.find(title), std::string::npos) << text;
    EXPECT_NE(text.find("2 of 3 nodes are in it"), std::string::npos) << text;
    EXPECT_NE(text.find(") on host2"), std::string::npos) << text;
    cluster.nodes[2].tell("come");
    cluster.finish();
    EXPECT_EQ(cluster.nodes[1].errors(), "");
    EXPECT_EQ(cluster.nodes[2].errors(), "");
  }
}
TEST_P(ClusterGroupTest, nodes_mean_other_members) {
  run("nodes_mean_other_members", 3);
}
TEST_P(ClusterGroupTest, a_member_dies) {
  for (const char* how : {"plain", "optional", "optional_node", "made", "notifies"})
    run("loses_the_last", 3, Segment::mapped, {how});
}
TEST_P(ClusterGroupTest, by_chance) {
  run("makes_groups_by_chance", 3, Segment::mapped, {"23", "500"});
}
TEST_P(ClusterGroupTest, threads) {
  run("makes_and_ends_groups", 3);
}

}  // namespace
}  // namespace weft::test
