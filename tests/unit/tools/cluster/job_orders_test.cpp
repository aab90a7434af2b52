// SPDX-License-Identifier: BSD-3-Clause
// Orders go down the tree of a job and reports come up it, also where a daemon in the middle is lost, or
// stands still: twelve virtual nodes, of which 8 to 11 are below node 0.
#include "tools/cluster/job_orders.hpp"

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "tests/unit/tools/cluster/running_cluster.hpp"

namespace weft::cluster {
namespace {

constexpr std::uint32_t nodes = 12;
const std::vector<std::string> sleeps{"/bin/sleep", "1000"};

/// A silent daemon is no lost one in these tests.
std::uint32_t without_heartbeats(std::uint32_t count) {
  ::setenv("WEFT_LOST_AFTER", "3000", 1);
  return count;
}

struct JobOrdersTest : RunningCluster {
  JobOrdersTest() : RunningCluster(without_heartbeats(nodes), WEFT_VERSION) {}
  ~JobOrdersTest() override {
    std::filesystem::remove(signal_file);
    ::unsetenv("WEFT_LOST_AFTER");
  }

  /// One rank on each node; the job goes on without lost ones.
  JobRun job(std::vector<std::string> argv) {
    return {*cluster, name(0), "12;slot@0:12x1", std::move(argv), true};
  }
  void run_until_started(JobRun& run) {
    run.launch(*cluster);
    run_until([&] { return run.started.size() == nodes; });
  }
  void run_until_settled(JobRun& run) {
    run_until([&] { return run.settled.size() == nodes; });
  }
  static std::set<std::uint32_t> ends_of(const JobRun& run) {
    std::set<std::uint32_t> out;
    for (const auto& [rank, status] : run.ends) out.insert(index(rank));
    return out;
  }
  static bool includes_all_below(const std::set<std::uint32_t>& settled) {
    return std::all_of(below.begin(), below.end(), [&](auto node) { return settled.count(node) != 0; });
  }
  static void expect_lost(const JobRun& run, std::uint32_t node) {
    ASSERT_EQ(run.lost.size(), 1u);
    EXPECT_EQ(run.lost.begin()->first, node);
  }

  static constexpr std::array<std::uint32_t, 4> below = {8, 9, 10, 11};  ///< node 0
  const std::string signal_file = fmt::format("/tmp/job_orders_test_{}", ::getpid());
};

TEST_F(JobOrdersTest, each_node_of_two_levels_runs_and_ends_once) {
  auto run = job({"/bin/sh", "-c", "echo $PMIX_RANK"});
  complete(run);
  EXPECT_EQ(run.failures, "");
  EXPECT_EQ(run.started.size(), nodes);
  EXPECT_EQ(run.ends.size(), nodes);
  for (std::uint32_t r = 0; r < nodes; ++r) EXPECT_EQ(run.output[Rank{r}], fmt::format("{}\n", r));
}

bool stands(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string number, program, state;
  stat >> number >> program >> state;
  return state == "T";
}

/// What stands is not ended by SIGTERM.
TEST_F(JobOrdersTest, signals_for_all_and_for_some_come_in_order_and_once) {
  auto run = job(sleeps);
  run_until_started(run);
  ::kill(daemons.at(0), SIGSTOP);
  run.far->signal(SIGSTOP);
  run.far->signal(SIGCONT, {Rank{11}});
  ::kill(daemons.at(0), SIGCONT);
  run_until([&] {
    return std::all_of(run.pids.begin(), run.pids.end(),
                       [](const auto& here) { return here.first == 11 || stands(here.second.at(0)); });
  });
  run.far->signal(SIGTERM);
  run_until([&] { return !run.settled.empty(); });
  EXPECT_EQ(ends_of(run), (std::set<std::uint32_t>{11}));
  run.far->signal(SIGKILL);
  run_until_settled(run);
  EXPECT_EQ(run.ends.size(), nodes);
  end(run);
}

TEST_F(JobOrdersTest, those_below_a_daemon_that_is_lost_before_it_has_the_launch_order_start) {
  auto run = job({"/bin/true"});
  ::kill(daemons.at(0), SIGSTOP);
  run.launch(*cluster);
  run_until([&] { return run.settled.size() == 7; });  // the others of the first level
  ::kill(daemons.at(0), SIGKILL);
  run_until_settled(run);
  expect_lost(run, 0);
  EXPECT_EQ(ends_of(run).size(), nodes - 1);
  end(run);
}

TEST_F(JobOrdersTest, those_below_a_daemon_that_is_lost_while_ranks_run_hear_orders_and_are_heard) {
  auto run = job(sleeps);
  run_until_started(run);
  ::kill(daemons.at(0), SIGKILL);
  run_until([&] { return !run.lost.empty(); });
  run.far->signal(SIGTERM);
  run_until_settled(run);
  expect_lost(run, 0);
  EXPECT_EQ(ends_of(run).size(), nodes - 1);
  for (const auto& [rank, status] : run.ends) EXPECT_EQ(status, SIGTERM) << index(rank);
  end(run);
}

/// Its reports, and those of the nodes below it, are on the way, or the order to end the ranks is.
TEST_F(JobOrdersTest, those_below_a_daemon_that_is_lost_while_ranks_end_lose_no_report) {
  auto run = job(sleeps);
  run_until_started(run);
  ::kill(daemons.at(0), SIGSTOP);
  run.far->signal(SIGKILL);
  ::kill(daemons.at(0), SIGKILL);
  run_until_settled(run);
  expect_lost(run, 0);
  EXPECT_EQ(ends_of(run).size(), nodes - 1);
  EXPECT_EQ(run.ends.size(), nodes - 1) << "what comes twice counts once";
  end(run);
}

TEST_F(JobOrdersTest, a_daemon_that_is_lost_with_the_order_to_forget_the_job_keeps_it_from_none) {
  auto run = job({"/bin/true"});
  run.launch(*cluster);
  run_until_settled(run);
  ::kill(daemons.at(0), SIGSTOP);
  bool is_gone = false;
  cluster->end(*run.far, job::Ending{PMIX_SUCCESS, Rank{0}, 0}, [&] { is_gone = true; });
  ::kill(daemons.at(0), SIGKILL);
  run_until([&] { return is_gone; });
  cluster->remove(*run.far);
}

TEST_F(JobOrdersTest, a_failure_below_a_daemon_that_stands_still_is_heard) {
  auto run =
      job({"/bin/sh", "-c",
           fmt::format("while [ ! -e {} ]; do sleep 0.05; done; [ $PMIX_RANK != 9 ] || exit 3; sleep 1000",
                       signal_file)});
  run_until_started(run);
  ::kill(daemons.at(0), SIGSTOP);
  std::ofstream(signal_file).close();
  run_until([&] { return !run.ends.empty(); });
  EXPECT_EQ(run.ends.begin()->first, Rank{9});
  EXPECT_EQ(WEXITSTATUS(run.ends.begin()->second), 3);
  EXPECT_TRUE(run.lost.empty());
  ::kill(daemons.at(0), SIGCONT);
  run.far->signal(SIGKILL);
  run_until_settled(run);
  EXPECT_EQ(run.ends.size(), nodes);
  end(run);
}

TEST_F(JobOrdersTest, an_order_passes_a_daemon_that_stands_still) {
  auto run = job(sleeps);
  run_until_started(run);
  ::kill(daemons.at(0), SIGSTOP);
  run.far->signal(SIGTERM);
  run_until([&] { return includes_all_below(run.settled); });
  EXPECT_TRUE(run.lost.empty());
  EXPECT_EQ(run.settled.count(0), 0u);
  ::kill(daemons.at(0), SIGCONT);
  run_until_settled(run);
  EXPECT_EQ(run.ends.size(), nodes) << "what comes twice counts once";
  for (const auto& [rank, status] : run.ends) EXPECT_EQ(status, SIGTERM) << index(rank);
  end(run);
}

}  // namespace
}  // namespace weft::cluster
