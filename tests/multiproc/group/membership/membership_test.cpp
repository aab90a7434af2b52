// SPDX-License-Identifier: BSD-3-Clause
// Groups whose members come and go, on one node and across the nodes of a cluster. The members:
// membership_programs.cpp.
#include <unistd.h>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

class MembershipTest : public Multiproc {};

TEST_F(MembershipTest, one_leaves) {
  all_run(Segment::mixed, 4, "one_leaves");
}
TEST_F(MembershipTest, all_leave_but_the_last) {
  all_run(Segment::mapped, 4, "all_leave_but_the_last");
}
/// The handlers decide; a member without one does not let another user's process in.
TEST_F(MembershipTest, another_users_process_asks_to_join) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become another user";
  for (const char* how : {"approved", "unheard"}) {
    Host host;
    Infos infos;
    infos.number(PMIX_JOB_SIZE, 4);
    host.add_job("job", 4, infos);
    for (pmix_rank_t rank = 0; rank < 3; ++rank) host.add_client(proc_of("job", rank));
    const auto stranger = proc_of("job", 3);
    ASSERT_EQ(PMIx_server_register_client(&stranger, 54321, ::getgid(), nullptr, nullptr, nullptr),
              PMIX_OPERATION_SUCCEEDED);
    std::vector<Child> children;
    for (pmix_rank_t rank = 0; rank < 4; ++rank)
      children.push_back(host.start("job", rank, "asks_to_join", {how, "another user"}));
    expect_success(children);
  }
}
TEST_F(MembershipTest, one_asks_to_join) {
  for (const char* how : {"approved", "refused", "unheard"})
    all_run(Segment::mapped, 4, "asks_to_join", {how});
}
TEST_F(MembershipTest, one_leaves_with_approval) {
  for (const char* how : {"approved", "refused"}) all_run(Segment::mapped, 4, "leaves_with_approval", {how});
}
TEST_F(MembershipTest, a_group_grows) {
  all_run(Segment::mapped, 4, "invites_into_a_group");
  all_run(Segment::mapped, 4, "invites_into_a_group", {"each"});
}
TEST_F(MembershipTest, all_come_and_go) {
  all_run(Segment::mapped, 5, "leaves_and_joins", {"5", "100"});
}

class ClusterMembershipTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterMembershipTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterMembershipTest, one_leaves) {
  run("one_leaves");
}
TEST_P(ClusterMembershipTest, all_leave_but_the_last) {
  run("all_leave_but_the_last");
}
TEST_P(ClusterMembershipTest, one_asks_to_join) {
  for (const char* how : {"approved", "refused", "unheard"}) run("asks_to_join", 3, Segment::mapped, {how});
}
TEST_P(ClusterMembershipTest, one_leaves_with_approval) {
  for (const char* how : {"approved", "refused"}) run("leaves_with_approval", 3, Segment::mapped, {how});
}
TEST_P(ClusterMembershipTest, what_is_stuck_is_reported_with_the_missing_ranks) {
  for (const std::string what : {"leave", "join"}) {
    Cluster cluster(3, Segment::mapped, "waits_for_a_handler", reports_soon(over()), true, {what});
    const auto text = cluster.nodes[0].wait_for_error(what + " of group tight");
    EXPECT_NE(text.find("missing: 1 (rank 1 pid"), std::string::npos) << text;
    cluster.nodes[0].tell("answer");
    cluster.finish();
  }
}
TEST_P(ClusterMembershipTest, the_keeper_has_no_member_any_more) {
  for (const char* then : {"join", "end"}) run("keeper_changes", 3, Segment::mapped, {then});
}
TEST_P(ClusterMembershipTest, a_group_grows) {
  run("invites_into_a_group");
  run("invites_into_a_group", 3, Segment::mapped, {"each"});
}
TEST_P(ClusterMembershipTest, all_come_and_go) {
  run("leaves_and_joins", 3, Segment::mapped, {"7", "100"});
}

}  // namespace
}  // namespace weft::test
