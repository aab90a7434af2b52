// SPDX-License-Identifier: BSD-3-Clause
// Nodes that are lost, with their servers, while operations of groups are under way, and processes that end
// while they ask to join. The members: group_loss_programs.cpp.
#include <algorithm>
#include <csignal>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

class GroupLossTest : public ClusterTest {
 protected:
  static void lose(Cluster& cluster, std::size_t node) {
    cluster.nodes[node].kill();
    cluster.nodes[node].wait();
    cluster.nodes.erase(cluster.nodes.begin() + static_cast<std::ptrdiff_t>(node));
  }
  static void hear_the_first(Child& node, std::string_view line) {
    node.tell("listen to the first");
    node.expect(line);
  }
  static void hear_the_last(Child& node, std::string_view line) {
    node.tell("listen");
    node.expect(line);
  }
};
INSTANTIATE_TEST_SUITE_P(Over, GroupLossTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(GroupLossTest, the_keepers_node) {
  Cluster cluster(3, Segment::mapped, "keepers_node_dies", over());
  hear_the_first(cluster.nodes[0], "ready");
  lose(cluster, 0);
  hear_the_first(cluster.nodes[1], "asked");
  cluster.finish();
}
/// The next keeper is asked before it can hear of the loss.
TEST_P(GroupLossTest, the_keepers_node_and_the_next_keeper_hears_of_it_late) {
  Cluster cluster(3, Segment::mapped, "keepers_node_dies", over());
  hear_the_first(cluster.nodes[0], "ready");
  const auto next = cluster.nodes[1].pid();
  cluster.nodes[1].kill(SIGSTOP);
  lose(cluster, 0);
  hear_the_first(cluster.nodes[1], "asked");
  EXPECT_EQ(::kill(next, SIGCONT), 0);
  cluster.finish();
}
/// The next keeper does not have the last change of the lost one.
TEST_P(GroupLossTest, the_keepers_node_before_a_change_is_everywhere) {
  Cluster cluster(3, Segment::mapped, "keepers_last_change_is_cut_off", over());
  hear_the_last(cluster.nodes[1], "answered");
  hear_the_last(cluster.nodes[2], "asked");
  const auto next = cluster.nodes[1].pid();
  cluster.nodes[1].kill(SIGSTOP);
  cluster.nodes[2].tell("answer");
  hear_the_last(cluster.nodes[2], "heard");
  lose(cluster, 0);
  EXPECT_EQ(::kill(next, SIGCONT), 0);
  cluster.finish();
}
TEST_P(GroupLossTest, the_keepers_last_member) {
  Cluster cluster(3, Segment::mapped, "keepers_member_dies", over(), false, {"stays"});
  cluster.finish();
}
TEST_P(GroupLossTest, the_keepers_node_where_the_next_has_no_live_member) {
  Cluster cluster(3, Segment::mapped, "keepers_member_dies", over(), false, {"is_lost"});
  hear_the_first(cluster.nodes[2], "ready");
  lose(cluster, 0);
  cluster.finish();
}
TEST_P(GroupLossTest, a_node_of_an_optional_construct) {
  Cluster cluster(3, Segment::mapped, "node_dies_in_an_optional_construct", over());
  hear_the_last(cluster.nodes[1], "called");
  lose(cluster, 2);
  cluster.finish();
}
TEST_P(GroupLossTest, a_node_whose_part_has_come) {
  Cluster cluster(3, Segment::mapped, "node_dies_after_its_call", over());
  hear_the_last(cluster.nodes[2], "called");
  lose(cluster, 2);
  cluster.finish();
}
TEST_P(GroupLossTest, a_node_of_a_construct_whose_members_are_asked) {
  for (const char* how : {"goes_on", "aborts", "unheard"}) {
    Cluster cluster(3, Segment::mapped, "node_dies_in_a_construct", over(), false, {how});
    hear_the_last(cluster.nodes[1], "called");
    lose(cluster, 2);
    cluster.finish();
  }
}
TEST_P(GroupLossTest, a_second_node_while_handlers_decide) {
  for (const char* which : {"decider", "other"}) {
    Cluster cluster(4, Segment::mapped, "second_node_dies_while_handlers_decide", over(), false, {which});
    const auto decides = cluster.nodes[1].pid();
    hear_the_last(cluster.nodes[2], "called");
    lose(cluster, 3);
    hear_the_last(cluster.nodes[1], "asked");
    lose(cluster, which == std::string("decider") ? 0 : 2);
    const auto second = std::find_if(cluster.nodes.begin(), cluster.nodes.end(),
                                     [&](Child& node) { return node.pid() == decides; });
    second->tell("answer");
    cluster.finish();
  }
}
TEST_P(GroupLossTest, the_node_where_a_bootstrap_comes_together) {
  Cluster cluster(3, Segment::mapped, "node_of_a_bootstrap_dies", over());
  hear_the_last(cluster.nodes[2], "ready");
  lose(cluster, 2);
  cluster.nodes[1].tell("call");
  cluster.finish();
}
TEST_P(GroupLossTest, the_node_where_a_bootstrap_comes_together_while_it_replies) {
  Cluster cluster(3, Segment::mapped, "node_of_a_bootstrap_dies_while_it_replies", over());
  hear_the_first(cluster.nodes[2], "answered");
  const auto other = cluster.nodes[1].pid();
  cluster.nodes[1].kill(SIGSTOP);
  cluster.nodes[2].tell("answer");
  hear_the_last(cluster.nodes[2], "heard");
  cluster.nodes[0].tell("call");
  hear_the_first(cluster.nodes[0], "under way");
  lose(cluster, 2);
  EXPECT_EQ(::kill(other, SIGCONT), 0);
  cluster.finish();
}
TEST_P(GroupLossTest, one_that_asks_to_join) {
  for (const bool is_node : {false, true}) {
    Cluster cluster(3, Segment::mapped, "one_that_asks_to_join_dies", over());
    hear_the_last(cluster.nodes[0], "asked");
    cluster.nodes[1].tell("join");
    hear_the_last(cluster.nodes[1], "waits");
    is_node ? lose(cluster, 2) : cluster.nodes[2].tell("die");
    hear_the_first(cluster.nodes[0], "knows");
    cluster.nodes[0].tell("answer");
    cluster.finish();
  }
}
TEST_P(GroupLossTest, one_that_is_asked) {
  for (const char* what : {"process", "node"}) {
    Cluster cluster(3, Segment::mapped, "one_that_is_asked_dies", over(), false, {what});
    if (what == std::string("node")) {
      hear_the_last(cluster.nodes[1], "asked");
      lose(cluster, 1);
    }
    cluster.finish();
  }
}

}  // namespace
}  // namespace weft::test
