// SPDX-License-Identifier: BSD-3-Clause
// Groups of the processes of one node at a board, and what makes messages of them again. The members:
// group_board_programs.cpp.
#include "tests/multiproc/harness/cluster.hpp"
#include "tests/multiproc/harness/host.hpp"

namespace weft::test {
namespace {

class GroupBoardTest : public Multiproc, public ::testing::WithParamInterface<Segment> {};
INSTANTIATE_TEST_SUITE_P(Segment, GroupBoardTest,
                         ::testing::ValuesIn(ways({Segment::mapped, Segment::mixed})),
                         [](const auto& way) { return name_of(way.param); });

TEST_P(GroupBoardTest, many_and_the_servers_table) {
  all_run(GetParam(), 4, "makes_many_at_a_board");
}
TEST_P(GroupBoardTest, messages_in_between) {
  all_run(GetParam(), 4, "mixes_boards_and_messages");
}
TEST_P(GroupBoardTest, threads_in_another_order) {
  all_run(GetParam(), 4, "comes_in_another_order");
}
TEST_P(GroupBoardTest, a_name_of_several_sets) {
  all_run(GetParam(), 4, "shares_a_name_among_sets");
}
TEST_P(GroupBoardTest, a_member_is_late) {
  Host host;
  host.add_job("job", 3);
  auto children = start_all(host, GetParam(), "job", 3, "is_late_at_a_board", {"timeout"});
  children[1].expect("timed out");
  children.back().tell("come");
  expect_success(children);
}
TEST_P(GroupBoardTest, a_member_dies) {
  Host host;
  host.add_job("job", 4);
  auto children = start_all(host, GetParam(), "job", 4, "dies_at_a_board");
  children.back().expect("waiting");
  children.back().kill();
  children.pop_back();
  expect_success(children);
}
// The node is a process of its own, whose report the test reads.
TEST_P(GroupBoardTest, what_is_stuck_is_reported_with_the_missing_ranks) {
  Cluster cluster(2, GetParam(), "is_late_at_a_board", reports_soon({{"WEFT_TRANSPORT", "shm"}}), true,
                  {"plain"});
  const auto text = cluster.nodes[1].wait_for_error("missing: 3 (rank 3 pid");
  EXPECT_NE(text.find("destruct of group late of a set of 2 processes of wide"), std::string::npos) << text;
  EXPECT_NE(text.find("1 of 2 local ranks are in it"), std::string::npos) << text;
  cluster.nodes[1].tell("come");
  cluster.finish();
}

/// Members on several nodes: those of each meet at a board of their own.
class ClusterGroupBoardTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterGroupBoardTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterGroupBoardTest, many_and_the_servers_table) {
  run("makes_many_at_a_board");
}
TEST_P(ClusterGroupBoardTest, messages_in_between) {
  run("mixes_boards_and_messages");
}
TEST_P(ClusterGroupBoardTest, a_node_that_always_sends_messages) {
  run("makes_many_at_a_board", 2, Segment::mixed);
}
TEST_P(ClusterGroupBoardTest, what_fails_fails_for_all) {
  run("fails_at_boards_of_nodes");
}
TEST_P(ClusterGroupBoardTest, threads_in_another_order) {
  run("comes_in_another_order");
}

}  // namespace
}  // namespace weft::test
