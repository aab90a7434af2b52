// SPDX-License-Identifier: BSD-3-Clause
// Metrics: names, escapes, and that all samples of a metric stand behind its head.
#include "tools/weftinfo/metrics.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace weft::weftinfo {
namespace {

Cluster a_cluster(const std::string& name, const std::string& host) {
  Cluster out;
  out.nspace = name;
  out.size = 2;
  out.counter_names = {"mesh.bytes_sent", "boards.in_use"};
  out.counter_texts = {"their bytes", "sets that have a board now"};
  out.counter_measures = {1, 2};
  Node here{
      .number = 0, .host = host, .state = "here", .transport = "shm", .age_ms = 1042, .counters = {7, 3}};
  here.ranks = {0, 2, 0, 0};
  here.regions = {{"cards", 64, 4096}};
  out.nodes = {here, Node{.number = 1, .host = "b", .state = "silent", .transport = {}, .counters = {}}};
  out.jobs = {Job{.nspace = "job", .ranks = 2, .nodes = 1, .states = {0, 2, 0, 0}, .fences = 5}};
  return out;
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, have_the_unit_behind_and_total_where_they_only_grow) {
  EXPECT_EQ(metric_name("mesh.bytes_sent", Measure::bytes), "weft_mesh_sent_bytes_total");
  EXPECT_EQ(metric_name("fences.packed", Measure::bytes), "weft_fences_packed_bytes_total");
  EXPECT_EQ(metric_name("rpc.sent", Measure::events), "weft_rpc_sent_total");
  EXPECT_EQ(metric_name("boards.in_use", Measure::things_now), "weft_boards_in_use");
  EXPECT_EQ(metric_name("published.bytes", Measure::bytes_now), "weft_published_bytes");
}

TEST(Metrics, of_a_cluster_are_of_its_nodes_and_jobs) {
  const auto text = metrics_of({a_cluster("c", "a")});
  for (const char* line : {
           "weft_launches 1",
           "# TYPE weft_node_up gauge",
           "weft_node_up{cluster=\"c\",node=\"0\",host=\"a\"} 1",
           "weft_node_up{cluster=\"c\",node=\"1\",host=\"b\"} 0",
           "weft_server_age_seconds{cluster=\"c\",node=\"0\",host=\"a\"} 1.042",
           "weft_job_ranks{cluster=\"c\",job=\"job\",state=\"connected\"} 2",
           "# TYPE weft_job_fences_total counter",
           "weft_job_fences_total{cluster=\"c\",job=\"job\"} 5",
           "weft_segment_used_bytes{cluster=\"c\",node=\"0\",host=\"a\",region=\"cards\"} 64",
           "# HELP weft_mesh_sent_bytes_total their bytes",
           "# TYPE weft_mesh_sent_bytes_total counter",
           "weft_mesh_sent_bytes_total{cluster=\"c\",node=\"0\",host=\"a\"} 7",
           "# TYPE weft_boards_in_use gauge",
           "weft_oldest_open_operation_seconds{cluster=\"c\"} 0.000",
       })
    EXPECT_TRUE(has_line(text, line)) << line << "\n" << text;
  EXPECT_EQ(text.find("weft_mesh_sent_bytes_total{cluster=\"c\",node=\"1\""), std::string::npos)
      << "a node that has not answered has no counters";
}

TEST(Metrics, escape_what_the_format_escapes) {
  auto cluster = a_cluster("c", "a\"b\\c\nd");
  cluster.counter_texts[0] = "a \"help\" \\ of\ntwo lines";
  const auto text = metrics_of({cluster});
  EXPECT_TRUE(has_line(text, "weft_node_up{cluster=\"c\",node=\"0\",host=\"a\\\"b\\\\c\\nd\"} 1")) << text;
  EXPECT_TRUE(has_line(text, "# HELP weft_mesh_sent_bytes_total a \"help\" \\\\ of\\ntwo lines")) << text;
}

TEST(Metrics, of_two_clusters_stand_behind_one_head) {
  auto other = a_cluster("d", "z");
  other.counter_names = {"boards.in_use", "of.another_release"};
  other.counter_texts.clear();
  other.counter_measures = {2};
  const auto text = metrics_of({a_cluster("c", "a"), other});
  std::set<std::string> heads;
  std::string current;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# TYPE ")) {
      current = line.substr(7, line.rfind(' ') - 7);
      EXPECT_TRUE(heads.insert(current).second) << current << " has two heads";
    } else if (!line.starts_with("#")) {
      EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), current);
    }
  }
  EXPECT_TRUE(has_line(text, "weft_boards_in_use{cluster=\"d\",node=\"0\",host=\"z\"} 7")) << text;
  EXPECT_TRUE(has_line(text, "weft_of_another_release_total{cluster=\"d\",node=\"0\",host=\"z\"} 3")) << text;
}

TEST(Metrics, of_nothing_say_so) {
  EXPECT_EQ(metrics_of({}),
            "# HELP weft_launches launches that have been asked, of this user on this machine\n"
            "# TYPE weft_launches gauge\nweft_launches 0\n");
}

}  // namespace
}  // namespace weft::weftinfo
