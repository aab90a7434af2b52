// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/text.hpp"

#include <gtest/gtest.h>
#include <pmix_common.h>

namespace weft::weftinfo {
namespace {

Cluster sample() {
  Cluster out{"launch", 0, 3, {"modex.gets", "mesh.stalls"}, {}, {}, {}};
  out.nodes = {{0, "alpha", "here", 100, "ofi", 65'000, {0, 2, 0, 0}, {4, 0}},
               {1, "beta", "here", 200, "ofi", 64'000, {1, 0, 0, 1}, {9, 1}},
               {2, "gamma", "silent", 0, "", 0, {}, {}}};
  out.jobs = {{"job", 6, 3, {1, 2, 0, 1}, 12}};
  Fence fence;
  fence.procs = {{"job", true, 0, 0}};
  fence.generation = 13;
  fence.age_ms = 61'500;
  fence.collects = true;
  fence.algorithm = "bruck";
  fence.nodes = 3, fence.entered = 1;
  fence.ranks = 4, fence.arrived = 2;
  fence.missing = {{1, "job", 2, 0, 0}, {1, "job", 3, 77, 3}};
  fence.silent = {2};
  out.fences = {fence};
  return out;
}

TEST(Text, of_a_cluster) {
  EXPECT_EQ(
      text_of(sample()),
      "cluster launch: 3 nodes, up for 1 min 5 s\n"
      "      0  alpha                server pid 100, transport ofi, 2 connected\n"
      "      1  beta                 server pid 200, transport ofi, 1 not in PMIx_Init yet, 1 gone without "
      "PMIx_Finalize\n"
      "      2  gamma                silent\n"
      "job job: 6 ranks on 3 nodes: 1 not in PMIx_Init yet, 2 connected, 1 gone without PMIx_Finalize; 12 "
      "fences of all ranks ended\n"
      "fence 13 of job, exchange by bruck: open for at least 1 min 1 s; 2 of 4 ranks are in it, with all "
      "their "
      "ranks 1 of 3 nodes\n"
      "  missing on beta: 2-3 (rank 2 not in PMIx_Init yet, rank 3 pid 77 gone)\n"
      "  nothing is known of the ranks on gamma\n");
}

Cluster with_more() {
  auto out = sample();
  out.fences.clear();
  out.jobs.push_back({"job.1", 2, 1, {0, 2, 0, 0}, 0, "job", 3});
  out.jobs.push_back({"job.2", 1, 1, {0, 1, 0, 0}, 0, {}, 0, 77, 4'000'000'000, false});
  out.jobs.push_back({"job.3", 1, 1, {0, 1, 0, 0}, 0, {}, 0, 78, 0, true});
  out.groups = {{"g", {{"job", false, 0, 1}, {"job.1", true, 0, 0}}}};
  out.sets = {{"left", {{"job", false, 0, 2}}}};
  out.nodes[0].names = {{"port", "job", 1, PMIX_RANGE_SESSION, PMIX_PERSIST_APP, 12}};
  out.nodes[0].all_names = 30;
  out.nodes[1].names = {{"a.port", "job", 2, PMIX_RANGE_LOCAL, PMIX_PERSIST_FIRST_READ, 1}};
  out.nodes[1].all_names = 1;
  out.nodes[0].regions = {{"cards", 100, 16 << 20}, {"boards", 0, 0}};
  out.nodes[0].server_kib = 2048;
  out.nodes[0].clients_kib = 1;
  return out;
}

TEST(Text, of_groups_sets_names_and_children) {
  const auto text = text_of(with_more());
  const auto begin = text.find("job job.1");
  ASSERT_NE(begin, std::string::npos) << text;
  EXPECT_EQ(
      text.substr(begin),
      "job job.1: 2 ranks on 1 node, spawned by rank 3 of job: 2 connected; 0 fences of all ranks "
      "ended\n"
      "job job.2: 1 rank on 1 node, attached by process 77 of user 4000000000: 1 connected; 0 fences of "
      "all ranks ended\n"
      "job job.3: 1 rank on 1 node, detached by process 78 of root: 1 connected; 0 fences of all ranks "
      "ended\n"
      "no process waits in a fence\n"
      "group g: job ranks 0-1, job.1\n"
      "process set left: job ranks 0-2\n"
      "31 published names:\n"
      "  a.port by rank 2 of job: 1 byte, range local, persistence first read\n"
      "  port by rank 1 of job: 12 bytes, range session, persistence application\n"
      "  and 29 more\n");
}

TEST(Text, of_memory) {
  EXPECT_EQ(memory_of(with_more()),
            "memory now, of the segment what is used of its addresses:\n"
            "  alpha: server 2.0 MiB, ranks 1.0 KiB; of the segment:\n"
            "    cards                       100 B of 16.0 MiB\n"
            "    boards                        0 B of 0 B\n");
  EXPECT_EQ(memory_of(sample()), "");
}

TEST(JsonText, of_groups_sets_names_and_children) {
  const auto json = json_of(with_more());
  for (const auto* part :
       {"\"parent\": {\"namespace\": \"job\", \"rank\": 3}",
        "\"attacher\": {\"pid\": 77, \"user\": 4000000000, \"detached\": false}",
        "\"groups\": [{\"name\": \"g\", \"procs\": [{\"namespace\": \"job\", \"first\": 0, "
        "\"last\": 1}, {\"namespace\": \"job.1\"}]}]",
        "\"sets\": [{\"name\": \"left\"", "\"published_count\": 30",
        "{\"key\": \"port\", \"namespace\": \"job\", \"rank\": 1, \"range\": \"session\", "
        "\"persistence\": \"application\", \"bytes\": 12}",
        "{\"region\": \"cards\", \"used\": 100, \"size\": 16777216}"})
    EXPECT_NE(json.find(part), std::string::npos) << part << json;
}

TEST(Text, of_a_fence_of_several_jobs) {
  auto cluster = sample();
  auto& fence = cluster.fences[0];
  fence.procs = {{"a", false, 0, 0}, {"a", false, 4, 6}, {"b", true, 0, 0}};
  fence.algorithm = "";
  fence.missing = {{0, "a", 4, 11, 1}, {0, "b", 4, 12, 1}};
  fence.silent = {};
  const auto text = text_of(cluster);
  EXPECT_NE(text.find("fence 13 of a ranks 0,4-6, b: open"), std::string::npos) << text;
  EXPECT_NE(text.find("  missing on alpha: a 4 (rank 4 pid 11)\n  missing on alpha: b 4 (rank 4 pid 12)\n"),
            std::string::npos)
      << text;
}

TEST(Text, of_a_fence_that_only_messages_hold_up) {
  auto cluster = sample();
  cluster.fences[0].missing.clear();
  cluster.fences[0].silent.clear();
  cluster.fences[0].waits_for = {1, 7};
  EXPECT_NE(text_of(cluster).find("all ranks are in it; messages are awaited from beta, node 7\n"),
            std::string::npos);
}

TEST(Text, a_full_machine_fits_a_line) {
  auto cluster = sample();
  cluster.fences[0].missing.clear();
  for (std::uint32_t rank = 0; rank < 500; ++rank)
    cluster.fences[0].missing.push_back({1, "job", rank, 1000, 1});
  const auto text = text_of(cluster);
  const auto at = text.find("missing on beta: 0-499 (rank 0 pid 1000");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(text.find('\n', at) - at, 200U);
  EXPECT_NE(text.find(", ...)", at), std::string::npos);
}

TEST(Text, of_counters) {
  EXPECT_EQ(counters_of(sample()),
            "counters since the servers' start, all nodes together:\n"
            "  modex.gets                           13   4 on alpha to 9 on beta\n"
            "  mesh.stalls                           1   0 on alpha to 1 on beta\n");
  auto alike = sample();
  alike.nodes[0].counters[1] = 1;
  EXPECT_NE(counters_of(alike).find("mesh.stalls                           2   1 on each\n"),
            std::string::npos);
  Cluster none;
  EXPECT_EQ(counters_of(none), "");
}

TEST(Text, of_a_list) {
  EXPECT_EQ(text_of(std::vector<Listed>{{100, 0, sample()}}),
            "     PID  AGE        NODES  JOBS\n"
            "     100  1 min 5 s  3      job (6 ranks)\n");
}

TEST(Listed, of_each_cluster_the_launcher) {
  const auto server = [](long pid, std::uint32_t rank, const char* nspace, std::uint64_t age_ms) {
    Listed out{pid, rank, {}};
    out.cluster.nspace = nspace;
    out.cluster.nodes = {{rank, "host", "here", pid, "", age_ms, {}, {}}};
    return out;
  };
  auto daemon = server(12, 1, "a", 90);
  daemon.cluster.jobs = {{"job", 6, 3, {}, 0}};
  const auto list = one_of_each({server(11, 0, "a", 90), server(10, 2, "a", 99), daemon,
                                 server(20, 0, "b", 5), server(30, 2, "a", 50), server(31, 0, "a", 45)});
  ASSERT_EQ(list.size(), 3U);
  ASSERT_EQ(list[0].cluster.jobs.size(), 1U) << "told by its daemon";
  EXPECT_TRUE(list[1].cluster.jobs.empty());
  EXPECT_EQ(list[0].pid, 10);  // it is older than its daemons, whatever its number
  EXPECT_EQ(list[1].pid, 20);
  EXPECT_EQ(list[2].pid, 30);  // another launch under the same name
}

TEST(Duration, all_sizes) {
  EXPECT_EQ(duration(0), "0 ms");
  EXPECT_EQ(duration(999), "999 ms");
  EXPECT_EQ(duration(59'999), "59 s");
  EXPECT_EQ(duration(3'599'000), "59 min 59 s");
  EXPECT_EQ(duration(100 * 3'600'000 + 60'000), "100 h 1 min");
}

TEST(JsonText, of_a_cluster) {
  const auto json = json_of(sample());
  EXPECT_EQ(json.substr(0, 60), "{\"cluster\": \"launch\", \"asked\": 0, \"size\": 3, \"nodes\": [{\"nod");
  EXPECT_NE(json.find("{\"node\": 2, \"host\": \"gamma\", \"state\": \"silent\"}"), std::string::npos)
      << json;
  EXPECT_NE(json.find("\"counters\": {\"modex.gets\": 9, \"mesh.stalls\": 1}"), std::string::npos) << json;
  EXPECT_NE(
      json.find("\"missing\": [{\"namespace\": \"job\", \"rank\": 2, \"pid\": 0, \"node\": 1, \"host\": "
                "\"beta\", \"state\": \"starting\"}, "),
      std::string::npos)
      << json;
  EXPECT_EQ(json.back(), '\n');
}

}  // namespace
}  // namespace weft::weftinfo
