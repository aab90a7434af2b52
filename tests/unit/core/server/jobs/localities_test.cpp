// SPDX-License-Identifier: BSD-3-Clause
// Localities that the host leaves to the library: made when a process first comes, of this node's ranks.
#include "core/server/jobs/localities.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <optional>
#include <string>

#include "core/server/jobs/jobs.hpp"
#include "core/store/get/lookup.hpp"
#include "core/topology/local.hpp"

namespace weft::server {
namespace {

using data::Infos;
using data::Value;

/// Four ranks on two nodes, of which this is the first, as a host registers them.
class Localities : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* folder = std::getenv("WEFT_TEST_MODULES")) ::setenv("WEFT_MODULE_PATH", folder, 1);
    auto made = shm::Segment::create(std::size_t{1} << 30);
    ASSERT_TRUE(made);
    segment_.emplace(std::move(*made));
    ASSERT_TRUE(store::format_segment(*segment_));
    jobs_.emplace(*segment_, "alpha", store::Limits{.card_bytes = 64 << 10});
  }
  Job& register_with(Infos more) {
    more.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{4}));
    more.add(PMIX_NODEID, Value::of(std::uint32_t{0}));
    more.add(PMIX_NODE_MAP, Value::of(std::string_view("alpha,beta")));
    more.add(PMIX_PROC_MAP, Value::of(std::string_view("0,2;1,3")));
    auto& job = jobs_->announce("job");
    bool is_new = false;
    const auto registered = jobs_->register_job(job, 2, more, is_new);
    EXPECT_TRUE(registered) << registered.error().what;
    return job;
  }
  static Infos left_to_the_library() {
    Infos infos;
    infos.add(localities_attribute, Value::of(true));
    return infos;
  }
  /// The number that the operating system gives to the first hardware thread here.
  static std::string first_processor() {
    cpu_set_t mine;
    CPU_ZERO(&mine);
    EXPECT_EQ(::sched_getaffinity(0, sizeof mine, &mine), 0);
    int first = 0;
    while (!CPU_ISSET(first, &mine)) ++first;
    return std::to_string(first);
  }
  static std::string locality(const Job& job, std::uint32_t rank) {
    const auto value = store::lookup(job.view(), rank, PMIX_LOCALITY_STRING, {}, {true, 0});
    return value && value->get().type == PMIX_STRING ? value->get().data.string : "none";
  }

  std::optional<shm::Segment> segment_;
  std::optional<Jobs> jobs_;
};

TEST_F(Localities, of_the_ranks_of_this_node_when_a_process_comes) {
  auto& job = register_with(left_to_the_library());
  EXPECT_EQ(locality(job, 0), "none") << "before that nothing is loaded";
  make_localities(job);
  EXPECT_TRUE(locality(job, 0).starts_with("hwloc:")) << locality(job, 0);
  EXPECT_EQ(locality(job, 2), locality(job, 0));
  EXPECT_EQ(locality(job, 1), "none") << "its own server tells it";
}

TEST_F(Localities, once_a_job) {
  auto& job = register_with(left_to_the_library());
  make_localities(job);
  const auto end = job.view().info().published();
  make_localities(job);
  EXPECT_EQ(job.view().info().published(), end);
}

TEST_F(Localities, what_the_host_says_of_a_rank_stays) {
  auto infos = left_to_the_library();
  Infos rank;
  rank.add(PMIX_RANK, Value::of_rank(2));
  rank.add(PMIX_LOCALITY_STRING, Value::of(std::string_view("hwloc:NM7")));
  infos.add(PMIX_PROC_INFO_ARRAY, store::array_of(rank).value());
  auto& job = register_with(std::move(infos));
  make_localities(job);
  EXPECT_EQ(locality(job, 2), "hwloc:NM7");
  EXPECT_TRUE(locality(job, 0).starts_with("hwloc:NM0")) << locality(job, 0);
}

TEST_F(Localities, of_a_rank_with_a_cpuset_by_that) {
  const auto all = topology::own_locality();
  ASSERT_TRUE(all);
  auto infos = left_to_the_library();
  Infos rank;
  rank.add(PMIX_RANK, Value::of_rank(2));
  rank.add(PMIX_CPUSET, Value::of(std::string_view("hwloc:" + first_processor())));
  infos.add(PMIX_PROC_INFO_ARRAY, store::array_of(rank).value());
  auto& job = register_with(std::move(infos));
  make_localities(job);
  EXPECT_EQ(locality(job, 0), *all);
  EXPECT_EQ(locality(job, 2), *topology::locality_of(first_processor()));
  EXPECT_TRUE(locality(job, 2).ends_with(":HT0")) << locality(job, 2);
}

TEST_F(Localities, of_a_rank_with_a_cpuset_that_makes_no_sense_none) {
  for (const auto* cpuset : {"hwloc:x", "other:0", "hwloc:1048575", "hwloc:"})
    EXPECT_FALSE(topology::locality_of(cpuset)) << cpuset;
}

TEST_F(Localities, none_where_the_host_does_not_leave_them_to_the_library) {
  auto& job = register_with({});
  make_localities(job);
  EXPECT_EQ(locality(job, 0), "none");
}

}  // namespace
}  // namespace weft::server
