// SPDX-License-Identifier: BSD-3-Clause
// Servers of one cluster: processes and nodes that die, leave or are late, and servers that do not fit
// together.
#include <unistd.h>

#include <csignal>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

/// The last two ranks die: one has committed, the other has not. Every way to ask for a key that is not there
/// ends alike.
int gets_of_dead_ranks(const Words&) {
  Client client;
  const auto poor = client.peer(client.size - 2), rich = client.peer(client.size - 1);
  if (client.me.rank == rich.rank) {
    check_status(put("card", std::uint64_t{7}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank >= poor.rank) {
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);  // so that their server knows
  const Infos plain;
  const auto at_once = std::move(Infos().flag(PMIX_IMMEDIATE));
  const auto bounded = std::move(Infos().integer(PMIX_TIMEOUT, 30));
  for (const auto* how : {&plain, &at_once, &bounded}) {
    // One of the two deaths has ended the fence; a Get that waits for the other's rank ends with it.
    if (how != &at_once) check_status(get(poor, "card", *how).status, PMIX_ERR_UNREACH);
    check_equal(get(rich, "card", *how).u64(), 7);
  }
  check_status(get(poor, "card", at_once).status, PMIX_ERR_UNREACH);
  for (const auto* how : {&plain, &at_once, &bounded})
    check_status(get(rich, "never", *how).status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// The last rank stays away, twice; no rank is left in a fence that another left, and the next one works.
int deadline(const Words&) {
  Client client;
  const bool is_last = client.me.rank + 1 == client.size;
  const auto limited = std::move(Infos().integer(PMIX_TIMEOUT, 1));
  for (int round = 0; round < 2; ++round) {
    if (is_last)  // the first comes here when it has given up on the fence of all
      check_status(fence({client.peer(0), client.me}), PMIX_SUCCESS);
    check_status(fence({}, limited), PMIX_ERR_TIMEOUT);
    if (client.me.rank == 0) check_status(fence({client.me, client.peer(client.size - 1)}), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank dies before a fence of all, and before one of the first and itself.
int last_dies(const Words&) {
  Client client;
  const auto last = client.peer(client.size - 1);
  if (client.me.rank == last.rank) {
    check_status(fence({client.peer(0), client.me}), PMIX_SUCCESS);
    ::signal(SIGUSR1, SIG_DFL);
    ::kill(::getpid(), SIGUSR1);
  }
  if (client.me.rank == 0) {
    check_status(fence({client.me, last}), PMIX_SUCCESS);
    check_status(fence({client.me, last}), PMIX_ERR_PROC_ABORTED);
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  check_status(fence({}, collect()), PMIX_ERR_PROC_ABORTED);
  if (client.me.rank < 4)
    check_status(fence({client.peer(0), client.peer(1), client.peer(2), client.peer(3)}),
                 PMIX_SUCCESS);  // without it all is well
  client.finalize();
  return 0;
}

/// The last rank dies and comes back in another process, while the others of its set fence as often as they
/// like, not the same number of times: the attempts of all nodes pair up again.
int last_comes_back(const Words&) {
  Client client;
  const auto last = client.peer(client.size - 1);
  const std::vector<pmix_proc_t> set{client.peer(0), client.peer(client.size - 2), last};
  const auto again = [&] {
    for (int i = 0; i < 3; ++i) check_status(fence(set), PMIX_SUCCESS);
  };
  if (client.me.rank == last.rank) {
    if (listen() == "first") {
      again();
      say("dies");
      ::signal(SIGUSR1, SIG_DFL);
      ::kill(::getpid(), SIGUSR1);
    }
    again();
  } else if (client.me.rank == 0 || client.me.rank == client.size - 2) {
    again();
    // One rank makes some attempts, the other of its own node or of another many.
    const auto pause = std::chrono::milliseconds(client.me.rank == 0 ? 40 : 1);
    check_status(fence(set), PMIX_ERR_PROC_ABORTED);
    say("told");
    auto status = PMIX_ERR_PROC_ABORTED;
    while ((status = fence(set)) == PMIX_ERR_PROC_ABORTED) std::this_thread::sleep_for(pause);
    check_status(status, PMIX_SUCCESS);
    check_status(fence(set), PMIX_SUCCESS);
    check_status(fence(set), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The last rank finalizes and ends while all others are in a fence with it: they are told within seconds.
int last_leaves(const Words&) {
  Client client;
  if (client.me.rank + 1 == client.size) {
    client.finalize();
    return 0;
  }
  check_status(fence(), PMIX_ERR_UNREACH);
  client.finalize();
  return 0;
}

/// The last rank comes when the test says so.
/// Word: together: no rank goes on before the test has heard all.
int last_is_late(const Words& words) {
  Client client;
  if (!words.empty()) meet_the_test();
  if (client.me.rank + 1 == client.size) await("come");
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The test kills a node when it hears that all are ready.
int node_dies(const Words&) {
  Client client;
  check_status(fence(), PMIX_SUCCESS);
  if (client.me.rank % ranks_a_node == ranks_a_node - 1) say("ready");
  const bool is_doomed = client.me.rank / ranks_a_node == client.size / ranks_a_node - 1;
  if (is_doomed) {
    await("never");
    return 0;
  }
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  check_status(fence({client.peer(0), client.peer(1), client.peer(2), client.peer(3)}), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// The server of the last node speaks another version than the others: what needs both ends with a status,
/// the rest works.
int two_versions(const Words&) {
  Client client;
  const auto others = client.size - ranks_a_node;
  const bool is_last_node = client.me.rank >= others;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_ERR_PROC_ABORTED);
  check_status(fence({}, collect()), PMIX_ERR_PROC_ABORTED);
  check_status(get(client.peer(is_last_node ? 0 : others), "card").status, PMIX_ERR_UNREACH);
  std::vector<pmix_proc_t> alike;
  for (pmix_rank_t r = 0; r < client.size; ++r)
    if ((r >= others) == is_last_node) alike.push_back(client.peer(r));
  check_status(fence(alike, collect()), PMIX_SUCCESS);
  for (const auto& peer : alike) check_equal(get(peer, "card", optional()).u64(), peer.rank);
  client.finalize();
  return 0;
}

}  // namespace

void add_cluster_loss_programs(Programs& programs) {
  programs.add("gets_of_dead_ranks", gets_of_dead_ranks);
  programs.add("deadline", deadline);
  programs.add("last_dies", last_dies);
  programs.add("last_comes_back", last_comes_back);
  programs.add("last_leaves", last_leaves);
  programs.add("last_is_late", last_is_late);
  programs.add("node_dies", node_dies);
  programs.add("two_versions", two_versions);
}

TEST_P(ClusterMessageTest, servers_of_two_versions) {
  run("two_versions");
}
TEST_P(ClusterTest, gets_of_dead_ranks) {
  run_waiting("inf", "gets_of_dead_ranks", Segment::mixed);
}
TEST_P(ClusterMessageTest, far_rank_dies) {
  run("far_rank_dies", 2);
}
TEST_P(ClusterMessageTest, deadline) {
  run("deadline");
}
TEST_P(ClusterMessageTest, last_dies) {
  run("last_dies");
}
TEST_P(ClusterMessageTest, last_comes_back) {
  for (const auto segment : {Segment::mapped, Segment::refused, Segment::mixed}) {
    Cluster cluster(2, segment, "last_comes_back", over());
    auto& node = cluster.nodes[1];
    node.tell("first");
    node.tell("listen");
    node.expect("dies");
    for (auto& each : cluster.nodes) {  // one that is late would know of no death
      each.tell("listen to the first");
      each.expect("told");
    }
    node.tell("start again");
    node.tell("second");
    cluster.finish();
  }
}
TEST_P(ClusterMessageTest, last_leaves) {
  run("last_leaves");
}
TEST_P(ClusterMessageTest, a_stuck_fence_is_reported_once_with_the_missing_ranks_and_their_nodes) {
  Cluster cluster(3, Segment::mapped, "last_is_late", reports_soon(over()), true, {"together"});
  cluster.go();
  const auto text = cluster.nodes[0].wait_for_error("missing: 5 (rank 5 pid");
  EXPECT_NE(text.find("2 of 3 nodes are in it"), std::string::npos) << text;
  EXPECT_NE(text.find(") on host2"), std::string::npos) << text;
  cluster.nodes[2].tell("come");
  cluster.finish();
  EXPECT_EQ(cluster.nodes[1].errors(), "");
  EXPECT_EQ(cluster.nodes[2].errors(), "");
}
TEST_P(ClusterTest, node_dies) {
  Cluster cluster(3, Segment::mapped, "node_dies", over());
  for (auto& node : cluster.nodes) node.tell("listen");
  for (auto& node : cluster.nodes) node.expect("ready");
  cluster.nodes[2].kill();
  cluster.nodes[2].wait();
  cluster.nodes.pop_back();
  cluster.finish();
}

}  // namespace weft::test
