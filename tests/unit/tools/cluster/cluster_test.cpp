// SPDX-License-Identifier: BSD-3-Clause
// Jobs one after the other, and side by side, in daemons that are there: this process is the launcher,
// without a terminal, and the daemons are real ones of two virtual nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/tools/cluster/running_cluster.hpp"

namespace weft::cluster {
namespace {

struct ClusterTest : RunningCluster {
  ClusterTest() : RunningCluster(2, WEFT_VERSION) {}
};

TEST_F(ClusterTest, a_job_runs_and_its_output_comes) {
  JobRun run(*cluster, name(0), "2;slot@0:2x2", {"/bin/sh", "-c", "echo $PMIX_NAMESPACE $PMIX_RANK"});
  complete(run);
  EXPECT_EQ(run.failures, "");
  EXPECT_EQ(run.started.size(), 2u);
  EXPECT_EQ(run.ends.size(), 4u);
  for (const auto& [rank, status] : run.ends) EXPECT_EQ(status, 0);
  for (std::uint32_t r = 0; r < 4; ++r) EXPECT_EQ(run.output[Rank{r}], fmt::format("{} {}\n", name(0), r));
}

TEST_F(ClusterTest, nodes_tell_how_long_the_start_took_where_the_order_asks) {
  EXPECT_EQ(connected, (std::set<std::uint32_t>{0, 1}));
  JobRun asked(*cluster, name(0), "2;slot@0:2x2", {"/bin/true"});
  asked.order.accounts = true;
  asked.launch(*cluster);
  EXPECT_GT(asked.far->orders().launch_bytes(), 0u);
  run_until([&] { return asked.settled.size() == 2; });
  end(asked);
  ASSERT_EQ(asked.starts.size(), 2u);
  for (const auto& [node, start] : asked.starts) {
    EXPECT_TRUE(start.map && start.spawn) << node;
    EXPECT_EQ(start.ranks, 2u);
    EXPECT_EQ(start.in_init, 0u) << "they know no PMIx";
    EXPECT_FALSE(start.load || start.init || start.fence || start.fetch);
  }
  JobRun other(*cluster, name(1), "2;slot@0:2x2", {"/bin/true"});
  complete(other);
  EXPECT_TRUE(other.starts.empty());
}

struct Holdings {
  std::size_t descriptors = 0, kilobytes = 0;
  static Holdings of(pid_t pid) {
    Holdings out;
    const std::filesystem::directory_iterator all(fmt::format("/proc/{}/fd", pid));
    out.descriptors = static_cast<std::size_t>(std::distance(begin(all), end(all)));
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string word; status >> word;)
      if (word == "RssAnon:") status >> out.kilobytes;
    return out;
  }
};
std::set<std::string> shared_memory() {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) out.insert(entry.path());
  return out;
}

TEST_F(ClusterTest, two_hundred_in_a_row_leave_nothing) {
  const auto run_one = [&](int number) {
    JobRun run(*cluster, name(number), "2;slot@0:2x2", {"/bin/true"});
    complete(run);
    EXPECT_EQ(run.failures, "");
    EXPECT_EQ(run.ends.size(), 4u);
  };
  for (int i = 0; i < 20; ++i) run_one(i);
  std::map<std::uint32_t, Holdings> before;
  for (const auto& [node, pid] : daemons) before[node] = Holdings::of(pid);
  const auto shared = shared_memory();
  for (int i = 20; i < 220; ++i) run_one(i);
  ASSERT_EQ(daemons.size(), 2u);
  for (const auto& [node, pid] : daemons) {
    const auto now = Holdings::of(pid);
    EXPECT_EQ(now.descriptors, before[node].descriptors) << "node " << node;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these keep what was freed
    EXPECT_LE(now.kilobytes, before[node].kilobytes + 512) << "node " << node;
#endif
    RecordProperty(fmt::format("kilobytes_of_{}", node),
                   fmt::format("{} to {}", before[node].kilobytes, now.kilobytes));
  }
  std::set<std::string> more;
  const auto now = shared_memory();
  std::set_difference(now.begin(), now.end(), shared.begin(), shared.end(), std::inserter(more, more.end()));
  std::erase_if(more, [](const auto& path) { return path.find("weft-test-") == std::string::npos; });
  EXPECT_TRUE(more.empty()) << *more.begin();
}

/// --cpu-list is a job's, and not the daemon's.
TEST_F(ClusterTest, the_processors_of_a_job_are_no_limit_of_the_next_one) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  ASSERT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
  if (CPU_COUNT(&mine) < 2) GTEST_SKIP() << "there is one processor here";
  unsigned first = 0;
  while (!CPU_ISSET(first, &mine)) ++first;
  const std::vector<std::string> show{"/bin/sh", "-c", "taskset -cp $$"};
  std::map<int, std::string> seen;
  for (const int number : {1, 2}) {
    JobRun run(*cluster, name(number), "2;slot@0:2x2", show);
    run.order.mapping.bind = job::BindTo::none;
    if (number == 1) run.order.processors = std::to_string(first);
    complete(run);
    EXPECT_EQ(run.failures, "");
    const auto& line = run.output[Rank{3}];
    seen[number] = line.substr(line.rfind(' ') + 1);
  }
  EXPECT_EQ(seen[1], std::to_string(first) + "\n");
  EXPECT_NE(seen[2], seen[1]);
}

TEST_F(ClusterTest, two_at_a_time_end_each_by_itself) {
  JobRun quick(*cluster, name(1), "2;slot@0:2x1", {"/bin/true"});
  JobRun slow(*cluster, name(2), "2;slot@0:2x1", {"/bin/sleep", "100"});
  slow.launch(*cluster);
  run_until([&] { return slow.started.size() == 2; });
  complete(quick);
  EXPECT_EQ(quick.ends.size(), 2u);
  EXPECT_TRUE(slow.ends.empty() && slow.settled.empty());
  slow.far->signal(SIGKILL);
  run_until([&] { return slow.settled.size() == 2; });
  for (const auto& [rank, status] : slow.ends) EXPECT_EQ(status, SIGKILL);
  end(slow);
}

TEST_F(ClusterTest, the_places_of_ranks_come_from_each_node_that_answers) {
  JobRun run(*cluster, name(0), "2;slot@0:2x2", {"/bin/sleep", "1000"});
  run.launch(*cluster);
  run_until([&] { return run.started.size() == 2; });
  std::vector<FarRanks::NodePlaces> found;
  const auto find = [&](std::chrono::milliseconds limit) {
    found.clear();
    run.far->find_places(false, limit,
                         [&](std::vector<FarRanks::NodePlaces> places) { found = std::move(places); });
    run_until([&] { return !found.empty(); });
  };
  find(std::chrono::seconds(50));
  ASSERT_EQ(found.size(), 2u);
  std::set<Rank> ranks;
  for (const auto& node : found) {
    ASSERT_TRUE(node.places);
    for (const auto& place : node.places->ranks) {
      EXPECT_GT(place.pid, 0);
      EXPECT_EQ(place.phase, job::Place::Phase::not_begun);
      EXPECT_EQ(place.stack, 0u);
      ranks.insert(place.rank);
    }
  }
  EXPECT_EQ(ranks.size(), 4u);
  ::kill(daemons[1], SIGSTOP);
  find(std::chrono::seconds(1));
  ::kill(daemons[1], SIGCONT);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(
      std::count_if(found.begin(), found.end(), [](const auto& node) { return node.places.has_value(); }), 1);
  run.far->signal(SIGKILL);
  run_until([&] { return run.settled.size() == 2; });
  end(run);
}

TEST_F(ClusterTest, a_lost_node_ends_the_jobs_that_have_ranks_there_and_no_other) {
  JobRun here(*cluster, name(1), "2;slot@0:1x2,1x0", {"/bin/sleep", "100"});
  JobRun there(*cluster, name(2), "2;slot@0:1x0,1x2", {"/bin/sleep", "100"});
  for (auto* run : {&here, &there}) run->launch(*cluster);
  run_until([&] { return !here.started.empty() && !there.started.empty(); });
  EXPECT_EQ(here.started, Numbers{0}) << "a job has the nodes of its ranks, and no other";
  EXPECT_EQ(there.started, Numbers{1});
  ::kill(daemons.at(1), SIGKILL);
  run_until([&] { return !there.lost.empty(); });
  EXPECT_TRUE(there.lost.count(1) != 0 && there.lost.begin()->second.find("v1") != std::string::npos)
      << there.lost.begin()->second;
  EXPECT_TRUE(here.lost.empty() && here.ends.empty());
  here.far->signal(SIGTERM);
  run_until([&] { return !here.settled.empty(); });
  EXPECT_EQ(here.ends.size(), 2u);
  end(here);
}

TEST_F(ClusterTest, a_node_that_is_lost_while_no_job_has_ranks_there_ends_none) {
  JobRun here(*cluster, name(1), "2;slot@0:1x2,1x0", {"/bin/true"});
  ::kill(daemons.at(1), SIGKILL);
  run_until([&] { return !lines.empty(); });
  EXPECT_NE(lines.back().find("v1"), std::string::npos) << lines.back();
  here.launch(*cluster);
  run_until([&] { return !here.settled.empty(); });
  EXPECT_TRUE(here.lost.empty());
  EXPECT_EQ(here.ends.size(), 2u);
  end(here);
}

TEST_F(ClusterTest, a_program_that_is_not_there_is_an_end_of_its_job_alone) {
  JobRun bad(*cluster, name(1), "2;slot@0:2x1", {"/no/such/program"});
  complete(bad);
  EXPECT_NE(bad.failures.find("/no/such/program"), std::string::npos) << bad.failures;
  JobRun good(*cluster, name(2), "2;slot@0:2x1", {"/bin/true"});
  complete(good);
  EXPECT_EQ(good.ends.size(), 2u);
}

}  // namespace
}  // namespace weft::cluster
