// SPDX-License-Identifier: BSD-3-Clause
// Published names where the host keeps none: on one node, and by the servers of several.
#include <malloc.h>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {

// ---- one node

class PublishedTest : public Multiproc {};

TEST_F(PublishedTest, ranges) {
  all_run(Segment::mapped, 2, "published_ranges");
}
TEST_F(PublishedTest, a_key_stands_in_a_space_once) {
  all_run(Segment::mixed, 2, "published_duplicates");
}
TEST_F(PublishedTest, one_of_all_that_publish_a_key_has_published_it) {
  all_run(Segment::mapped, 4, "published_one_wins");
}
TEST_F(PublishedTest, some_keys_are_there) {
  all_run(Segment::mapped, 2, "published_partial");
}
TEST_F(PublishedTest, lookups_wait) {
  all_run(Segment::mapped, 2, "published_waits");
}
TEST_F(PublishedTest, one_process_reads_a_name_that_goes_with_it) {
  all_run(Segment::mapped, 2, "published_first_reads");
}
TEST_F(PublishedTest, a_process_takes_back_what_is_its_own) {
  all_run(Segment::mapped, 2, "published_unpublishing");
}
TEST_F(PublishedTest, odd_arguments_are_refused) {
  all_run(Segment::mapped, 2, "published_odd_arguments");
}
TEST_F(PublishedTest, access_by_user) {
  all_run(Segment::mapped, 2, "published_access");
}
TEST_F(PublishedTest, eight_processes_find_a_thousand_names_each) {
  all_run(Segment::mapped, 8, "published_pairs", {"1000"});
}

/// With the tests' own server in this process: its memory is this process's.
TEST_F(PublishedTest, the_memory_of_many_names_comes_back) {
  Host host;
  host.add_job("job", 1);
  auto child = host.start("job", 0, "published_very_many", {"100000"});
  child.expect("ready");
  const auto before = private_kilobytes();
  const auto left_after_a_round = [&] {
    child.tell("publish");
    child.expect("published");
    const auto most = private_kilobytes();
    EXPECT_GT(most, before + 10'000);
    child.tell("unpublish");
    child.expect("unpublished");
    ::malloc_trim(0);
    const auto left = private_kilobytes();
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what is freed
    EXPECT_LT(left - before, (most - before) / 2) << "the allocator keeps some of it, in pieces";
#endif
    return left;
  };
  [[maybe_unused]] const auto first = left_after_a_round(), second = left_after_a_round();
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(second, first + 3'000) << "what is kept is used again";
#endif
  child.tell("end");
  child.expect_success();
}

/// The names of a job end with it; a lookup that waits ends with its process.
TEST_F(PublishedTest, names_end_with_their_job) {
  Host host;
  host.add_job("job", 2);
  auto children = host.start_all("job", 2, "published_names_of_the_dead");
  children[0].expect_success();
  EXPECT_TRUE(WIFSIGNALED(children[1].wait()));
  host.remove_job("job");
  host.add_job("next", 1);
  auto next = host.start("next", 0, "published_names_are_left");
  next.expect_success();
}

// ---- several nodes

class ClusterPublishedTest : public ClusterTest {};

TEST_P(ClusterPublishedTest, ranges) {
  run("published_ranges");
}
TEST_P(ClusterPublishedTest, one_of_all_that_publish_a_key_has_published_it) {
  run("published_one_wins");
}
TEST_P(ClusterPublishedTest, some_keys_are_there) {
  run("published_partial");
}
TEST_P(ClusterPublishedTest, lookups_wait) {
  run("published_waits");
}
TEST_P(ClusterPublishedTest, one_process_reads_a_name_that_goes_with_it) {
  run("published_first_reads");
}
TEST_P(ClusterPublishedTest, a_process_takes_back_what_is_its_own) {
  run("published_unpublishing");
}
TEST_P(ClusterPublishedTest, values_of_all_sizes) {
  run("published_odd_arguments");
}
TEST_P(ClusterPublishedTest, access_by_user) {
  run("published_access");
}
TEST_P(ClusterPublishedTest, all_find_a_thousand_names_each) {
  run("published_pairs", 4, Segment::mapped, {"1000"});
}
TEST_P(ClusterPublishedTest, names_end_with_their_process) {
  run("published_names_of_the_dead");
}
/// In weftinfo, too.
TEST_P(ClusterPublishedTest, a_lookup_that_waits_is_reported) {
  Cluster cluster(2, Segment::mapped, "published_service_is_late", reports_soon(over()), true);
  cluster.nodes[1].tell("listen");
  cluster.nodes[1].expect("waits");
  for (auto& node : cluster.nodes) {
    const auto said = node.wait_for_error("missing: a process that publishes it");
    EXPECT_NE(said.find("lookup of a service"), std::string::npos) << said;
  }
  std::FILE* pipe = ::popen((WEFTINFO " --stats " + std::to_string(cluster.nodes[0].pid())).c_str(), "re");
  ASSERT_NE(pipe, nullptr);
  std::string report(20'000, '\0');
  report.resize(std::fread(report.data(), 1, report.size(), pipe));
  EXPECT_EQ(::pclose(pipe), 0);
  for (const char* part : {"lookup of a service, published by no process,", "published.waiting"})
    EXPECT_NE(report.find(part), std::string::npos) << report;
  cluster.nodes[1].tell("publish");
  cluster.finish();
}
TEST_P(ClusterPublishedTest, the_names_of_a_lost_keeper_are_found) {
  Cluster cluster(3, Segment::mapped, "published_keeper_dies", over());
  for (auto& node : cluster.nodes) node.tell("listen");
  for (auto& node : cluster.nodes) node.expect("ready");
  cluster.nodes[2].kill();
  cluster.nodes[2].wait();
  cluster.nodes.pop_back();
  cluster.finish();
}
INSTANTIATE_TEST_SUITE_P(Fabrics, ClusterPublishedTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& one) { return one.param; });

}  // namespace weft::test
