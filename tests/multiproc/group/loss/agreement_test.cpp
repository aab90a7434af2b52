// SPDX-License-Identifier: BSD-3-Clause
// Ends of an operation on which the nodes have to agree, where something else happens at the same moment: a
// construct that handlers abort before all have called, and the end of a group that changes while a member
// dies.
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/multiproc/group/group_calls.hpp"
#include "tests/multiproc/group/programs.hpp"
#include "tests/multiproc/harness/cluster.hpp"
#include "weft/pmix_extensions.h"

namespace weft::test {
namespace {

using Answer = GroupEvents::Answer;
using Event = GroupEvents::Event;

void end_by_signal() {
  ::signal(SIGUSR1, SIG_DFL);
  ::kill(::getpid(), SIGUSR1);
}

/// Rank 0 leads, has called, and dies; rank 1 has the construct aborted. The last rank has not called then,
/// or neither of the last two: word: one or two.
int aborts_before_all_have_called(const Words& words) {
  Client client;
  const auto rank = client.me.rank;
  const bool is_late = rank + (words.at(0) == "one" ? 1 : 2) >= client.size;
  const auto left = ranks_of(client, 1, client.size - 1);
  if (rank == 1)
    group_events().listen(PMIX_GROUP_LEADER_FAILED,
                          [](const Event&) -> Answer { return {PMIX_GROUP_CONSTRUCT_ABORT}; });
  Infos infos;
  if (rank == 0) infos.flag(PMIX_GROUP_LEADER);
  std::optional<Construct> called;
  if (!is_late) called.emplace("orphaned", Procs{client.job}, infos);
  check_status(fence(), PMIX_SUCCESS);
  if (rank == 0) end_by_signal();
  if (!is_late) check_status(called->wait(), PMIX_GROUP_CONSTRUCT_ABORT);
  check_status(fence(left), PMIX_SUCCESS);
  if (is_late) check_status(construct("orphaned", {client.job}).status, PMIX_GROUP_CONSTRUCT_ABORT);
  check_status(fence(left), PMIX_SUCCESS);
  check_status(construct("orphaned", left).status, PMIX_SUCCESS);
  check_status(destruct("orphaned"), PMIX_SUCCESS);
  check(eventually([] { return operations_open_here().empty(); }), "an operation is left open");
  check_status(fence(left), PMIX_SUCCESS);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

/// Three nodes. Ranks 5 and 1 are a group that the last node keeps. Rank 3 asks to join, and rank 5 dies
/// before rank 1 has answered: its server begins the group's end for it, among the members before. Ranks 1
/// and 3 end the group then, and the first node is stopped until the last has looked whether other nodes know
/// other members.
int joins_while_the_keepers_member_dies(const Words&) {
  Client client;
  const auto rank = client.me.rank;
  const auto both = ranks_of(client, {1, 3});
  const auto left = ranks_of(client, 0, 4);
  group_events().listen(PMIX_ERR_PROC_ABORTED);
  if (rank == 1)
    group_events().listen(PMIX_GROUP_JOIN_REQUEST, [](const Event&) -> Answer {
      say("asked");
      await("answer");
      return {};
    });
  const auto tells = std::move(Infos().flag(PMIX_GROUP_NOTIFY_TERMINATION));
  check_status(fence(), PMIX_SUCCESS);
  if (rank == 5 || rank == 1)
    check_status(construct("moved", ranks_of(client, {5, 1}), tells).status, PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  std::optional<Join> joins;
  if (rank == 3) joins.emplace("moved");
  if (rank == 5) {
    await("die");
    end_by_signal();
  }
  if (rank == 0) {
    group_events().wait(PMIX_ERR_PROC_ABORTED);
    say("knows");
  }
  Waiter ended;
  const auto end = [&] {
    check(eventually([&] {
            return is_same(members_of("moved"), ranks_of(client, {5, 1, 3}));
          }),
          "the members");
    check_status(PMIx_Group_destruct_nb("moved", nullptr, 0, Waiter::on_status, &ended), PMIX_SUCCESS);
    hear_from_server();
  };
  if (rank == 3) check_status(joins->wait(), PMIX_SUCCESS);
  if (rank == 1) end();
  if (rank == 1 || rank == 3) check_status(fence(both), PMIX_SUCCESS);
  if (rank == 3) {
    end();
    say("called");
    await("go on");
    // This long, so that the last node has looked.
    const auto two_looks = std::move(Infos().integer(PMIX_TIMEOUT, 2));
    check_status(construct("of one that does not come", ranks_of(client, {2, 3}), two_looks).status,
                 PMIX_ERR_TIMEOUT);
    say("has looked");
  }
  if (rank == 1 || rank == 3) check_status(ended.wait(), PMIX_SUCCESS);
  check_status(fence(left), PMIX_SUCCESS);
  check(eventually([] { return groups_known_here() == 0 && operations_open_here().empty(); }),
        "something is left");
  check_status(fence(left), PMIX_SUCCESS);
  PMIx_Finalize(nullptr, 0);
  return 0;
}

class AgreementTest : public Multiproc {};

TEST_F(AgreementTest, an_abort_before_all_have_called) {
  for (const char* late : {"one", "two"}) {
    Host host;
    host.add_job("job", 4);
    auto members = host.start_all("job", 4, "aborts_before_all_have_called", {late});
    EXPECT_EQ(members[0].wait(), SIGUSR1);
    members.erase(members.begin());
    expect_success(members);
  }
}

class ClusterAgreementTest : public ClusterTest {};
INSTANTIATE_TEST_SUITE_P(Over, ClusterAgreementTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterAgreementTest, an_abort_before_all_have_called) {
  for (const char* late : {"one", "two"}) run("aborts_before_all_have_called", 3, Segment::mapped, {late});
}
TEST_P(ClusterAgreementTest, a_join_while_the_keepers_member_dies) {
  Cluster cluster(3, Segment::mapped, "joins_while_the_keepers_member_dies", over());
  const auto hear = [](Child& node, const char* from, std::string_view line) {
    node.tell(from);
    node.expect(line);
  };
  hear(cluster.nodes[0], "listen", "asked");
  cluster.nodes[2].tell("die");
  hear(cluster.nodes[0], "listen to the first", "knows");
  cluster.nodes[0].tell("answer");
  hear(cluster.nodes[1], "listen", "called");
  const auto first = cluster.nodes[0].pid();
  cluster.nodes[0].kill(SIGSTOP);
  cluster.nodes[1].tell("go on");
  hear(cluster.nodes[1], "listen", "has looked");
  EXPECT_EQ(::kill(first, SIGCONT), 0);
  cluster.finish();
}

}  // namespace

void add_agreement_programs(Programs& programs) {
  programs.add("aborts_before_all_have_called", aborts_before_all_have_called);
  programs.add("joins_while_the_keepers_member_dies", joins_while_the_keepers_member_dies);
}

}  // namespace weft::test
