// SPDX-License-Identifier: BSD-3-Clause
// Constructs in which handlers decide, constructs by leaders that do not know each other, and collectives
// that adjust. The members: construct_programs.cpp.
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

class ConstructTest : public Multiproc {
 protected:
  /// Four ranks of one node; the last one ends of SIGUSR1.
  static void run_and_lose(const std::string& program, const Words& words) {
    Host host;
    host.add_job("job", 4);
    auto members = host.start_all("job", 4, program, words);
    EXPECT_EQ(members[3].wait(), SIGUSR1);
    members.pop_back();
    expect_success(members);
  }
};

TEST_F(ConstructTest, handlers_decide) {
  for (const char* how : {"leader", "all", "aborts", "unheard", "refused"})
    run_and_lose("handlers_decide", {how});
}
TEST_F(ConstructTest, the_leader_ends) {
  for (const char* how : {"led", "unled", "aborts"})
    run_and_lose("leader_of_a_construct_ends", {how, "late"});
}
TEST_F(ConstructTest, members_hear_of_it) {
  all_run(Segment::mapped, 4, "tells_of_a_construct");
}
TEST_F(ConstructTest, bootstrap) {
  all_run(Segment::mapped, 4, "bootstraps");
}
TEST_F(ConstructTest, bootstrap_loses_one) {
  for (const char* how : {"optional", "required"}) run_and_lose("bootstrap_loses_one", {how});
}
TEST_F(ConstructTest, fences_adjust) {
  run_and_lose("fences_adjust", {});
}
TEST_F(ConstructTest, one_leaves_a_fence) {
  all_run(Segment::mixed, 4, "one_leaves_a_fence");
  all_run(Segment::mapped, 4, "one_leaves_a_fence");
}
TEST_F(ConstructTest, one_leaves_an_end) {
  all_run(Segment::mapped, 4, "one_leaves_an_end");
}

class ClusterConstructTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterConstructTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterConstructTest, handlers_decide) {
  for (const char* how : {"leader", "all", "aborts", "unheard", "refused"})
    run("handlers_decide", 3, Segment::mapped, {how});
}
TEST_P(ClusterConstructTest, the_leader_ends) {
  for (const char* when : {"late", "early"})
    for (const char* how : {"led", "unled", "aborts"})
      run("leader_of_a_construct_ends", 3, Segment::mapped, {how, when});
}
TEST_P(ClusterConstructTest, members_hear_of_it) {
  run("tells_of_a_construct");
}
TEST_P(ClusterConstructTest, bootstrap) {
  run("bootstraps");
}
TEST_P(ClusterConstructTest, bootstrap_loses_one) {
  for (const char* how : {"optional", "required"}) run("bootstrap_loses_one", 3, Segment::mapped, {how});
}
TEST_P(ClusterConstructTest, what_is_stuck_is_reported_with_what_is_missing) {
  const auto report_of = [&](const std::string& late) {
    // The first node brings a group of this name together.
    Cluster cluster(3, Segment::mapped, "bootstrap_waits", reports_soon(over()), true, {late, "met here"});
    auto text = cluster.nodes[0].wait_for_error("bootstrap of group met here");
    cluster.nodes[2].tell("come");
    cluster.finish();
    return text;
  };
  const auto without_member = report_of("member");
  for (const char* part : {"bootstrap of group met here of a set of 6 processes of wide has been open",
                           "2 of 3 nodes", "missing: 5 (rank 5 pid", ") on host2."})
    EXPECT_NE(without_member.find(part), std::string::npos) << part << " in\n" << without_member;
  const auto without_leader = report_of("leader");
  for (const char* part : {"bootstrap of group met here (1 of 2 leaders have called) of a set of 5 processes",
                           "missing: leaders that are not known yet."})
    EXPECT_NE(without_leader.find(part), std::string::npos) << part << " in\n" << without_leader;
}
TEST_P(ClusterConstructTest, fences_adjust) {
  run("fences_adjust");
}
TEST_P(ClusterConstructTest, one_leaves_a_fence) {
  run("one_leaves_a_fence", 2);
}
TEST_P(ClusterConstructTest, one_leaves_an_end) {
  run("one_leaves_an_end");
}

}  // namespace
}  // namespace weft::test
