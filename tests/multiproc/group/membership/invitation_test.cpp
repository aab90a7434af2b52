// SPDX-License-Identifier: BSD-3-Clause
// Groups by invitation, on one node and across the nodes of a cluster. The members: invitation_programs.cpp.
#include <csignal>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

class InvitationTest : public Multiproc {
 protected:
  /// Four ranks of one node; `dead` of them dies of SIGUSR1.
  static void run(const std::string& program, const Words& words, std::optional<pmix_rank_t> dead = {},
                  const std::function<void(std::vector<Child>&)>& meanwhile = nullptr) {
    Host host;
    host.add_job("job", 4);
    auto members = host.start_all("job", 4, program, words);
    if (meanwhile) meanwhile(members);
    if (dead) {
      EXPECT_EQ(members[*dead].wait(), SIGUSR1) << words.at(0);
      members.erase(members.begin() + *dead);
    }
    expect_success(members);
  }
};

TEST_F(InvitationTest, all_accept) {
  run("all_accept", {});
}
TEST_F(InvitationTest, one_declines) {
  for (const char* how : {"optional", "required"}) run("one_declines", {how});
}
TEST_F(InvitationTest, the_leader_decides) {
  for (const char* how : {"goes_on", "aborts", "replaces"}) run("leader_decides", {how});
}
TEST_F(InvitationTest, one_dies) {
  run("invited_dies", {"asked"}, 3);
  run("invited_dies", {"accepted"}, {}, [](std::vector<Child>& members) {
    members[3].tell("die");
    EXPECT_EQ(members[3].wait(), SIGUSR1);
    members.pop_back();
    members[1].tell("go on");
  });
}
TEST_F(InvitationTest, too_late) {
  run("too_late", {"invite"});
  run("too_late", {"join"}, {}, [](std::vector<Child>& members) {
    members[1].expect("late");
    members[2].expect("late");
    members[3].tell("come");
  });
}
TEST_F(InvitationTest, the_leader_aborts) {
  run("leader_aborts", {});
}
TEST_F(InvitationTest, the_leader_dies) {
  for (const char* how : {"led", "unled", "aborts"}) run("leader_dies", {how}, 0);
}
TEST_F(InvitationTest, nonsense) {
  run("asks_for_nonsense", {});
}

class ClusterInvitationTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterInvitationTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterInvitationTest, all_accept) {
  run("all_accept");
}
TEST_P(ClusterInvitationTest, one_declines) {
  for (const char* how : {"optional", "required"}) run("one_declines", 3, Segment::mapped, {how});
}
TEST_P(ClusterInvitationTest, the_leader_decides) {
  for (const char* how : {"goes_on", "aborts", "replaces"}) run("leader_decides", 2, Segment::mapped, {how});
}
TEST_P(ClusterInvitationTest, one_dies) {
  run("invited_dies", 3, Segment::mapped, {"asked"});
}
TEST_P(ClusterInvitationTest, too_late) {
  run("too_late", 2, Segment::mapped, {"invite"});
}
TEST_P(ClusterInvitationTest, the_leader_aborts) {
  run("leader_aborts");
}
TEST_P(ClusterInvitationTest, the_leader_dies) {
  for (const char* how : {"led", "unled", "aborts"}) run("leader_dies", 3, Segment::mapped, {how});
}
TEST_P(ClusterInvitationTest, nonsense) {
  run("asks_for_nonsense");
}
TEST_P(ClusterInvitationTest, what_is_stuck_is_reported_with_the_missing_ranks) {
  Cluster cluster(3, Segment::mapped, "last_is_late_to_answer", reports_soon(over()), true);
  const auto text = cluster.nodes[0].wait_for_error("missing: 5 (rank 5 pid");
  EXPECT_NE(text.find("invitation to group late of "), std::string::npos) << text;
  EXPECT_NE(text.find(") on host2"), std::string::npos) << text;
  cluster.nodes[2].tell("come");
  cluster.finish();
}

class InvitationLossTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, InvitationLossTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

void lose_the_first(Cluster& cluster) {
  cluster.nodes[0].kill();
  cluster.nodes[0].wait();
  cluster.nodes.erase(cluster.nodes.begin());
}
void lose_leaders_node(const Variables& variables, const char* how) {
  Cluster cluster(3, Segment::mapped, "leaders_node_dies", variables, false, {how, "2"});
  cluster.nodes[0].tell("listen to the first");
  cluster.nodes[0].expect("ready");
  lose_the_first(cluster);
  cluster.finish();
}
TEST_P(InvitationLossTest, the_leaders_node_dies) {
  lose_leaders_node(over(), "led");
}
TEST_P(InvitationLossTest, the_leaders_node_dies_and_no_process_leads) {
  lose_leaders_node(over(), "unled");
}
TEST_P(InvitationLossTest, the_leaders_node_dies_and_a_process_aborts) {
  lose_leaders_node(over(), "aborts");
}
/// Only the last node has heard that the group is made.
TEST_P(InvitationLossTest, the_leaders_node_dies_while_it_replies) {
  if (GetParam() == "ucx")
    GTEST_SKIP() << "UCX 1.13 may abort a process whose peer dies while a long message is under way: "
                    "docs/known_limits.md";
  auto variables = over();
  variables.emplace_back("WEFT_LOST_AFTER",
                         "600");  // the node that is stopped is not lost, however long the reply takes
  Cluster cluster(3, Segment::mapped, "leaders_node_dies_while_it_replies", variables);
  cluster.nodes[0].tell("listen to the first");
  cluster.nodes[0].expect("ready");
  const auto other = cluster.nodes[1].pid();
  cluster.nodes[1].kill(SIGSTOP);
  cluster.nodes[2].tell("answer");
  cluster.nodes[2].tell("listen");
  cluster.nodes[2].expect("made");
  lose_the_first(cluster);
  EXPECT_EQ(::kill(other, SIGCONT), 0);
  cluster.finish();
}
/// The server that follows is lost before the election can end.
TEST_P(InvitationLossTest, the_leaders_node_and_the_next_die) {
  Cluster cluster(4, Segment::mapped, "leaders_node_dies", over(), true, {"led", "4"});
  cluster.nodes[0].tell("listen to the first");
  cluster.nodes[0].expect("ready");
  const auto last = cluster.nodes[3].pid();
  cluster.nodes[3].kill(SIGSTOP);
  lose_the_first(cluster);
  (void)cluster.nodes[0].wait_for_error("node host0 is lost");
  lose_the_first(cluster);
  EXPECT_EQ(::kill(last, SIGCONT), 0);
  cluster.finish();
}
TEST_P(InvitationLossTest, the_node_of_those_invited_dies) {
  Cluster cluster(3, Segment::mapped, "inviteds_node_dies", over());
  cluster.nodes[2].tell("listen");
  cluster.nodes[2].expect("ready");
  cluster.nodes[2].kill();
  cluster.nodes[2].wait();
  cluster.nodes.pop_back();
  cluster.finish();
}

}  // namespace
}  // namespace weft::test
