// SPDX-License-Identifier: BSD-3-Clause
// What a host says about a job, in the many ways in which hosts say it.
#include "core/server/jobs/job_info.hpp"

#include <gtest/gtest.h>

#include "core/store/lookup.hpp"

namespace weft::server {
namespace {

using data::Infos;
using data::Value;
using store::none;

Result<store::JobSpec> read(const Infos& infos, int local, const std::set<std::uint32_t>& registered = {}) {
  return read_job_info("job", local, infos.data(), infos.size(), registered, "here");
}

Value array_of(Infos infos) {
  auto value = store::array_of(infos);
  return value ? std::move(*value) : Value();
}

TEST(JobInfo, size_alone_is_a_job_of_this_node) {
  Infos infos;
  infos.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{3}));
  const auto spec = read(infos, 3);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->ranks.size(), 3u);
  EXPECT_EQ(spec->nodes, 1u);
  EXPECT_EQ(spec->local_ranks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(spec->ranks[2].local_rank, 2);
  EXPECT_EQ(spec->ranks[2].appnum, 0u);
  EXPECT_EQ(spec->ranks[2].app_rank, 2u);
  EXPECT_EQ(spec->ranks[2].global_rank, 2u);
}

TEST(JobInfo, maps_place_the_ranks) {
  Infos infos;
  infos.add(PMIX_NODE_MAP, Value::of(std::string_view("there,here")));
  infos.add(PMIX_PROC_MAP, Value::of(std::string_view("0,2;1,3")));
  const auto spec = read(infos, 2);  // found by the name of this node
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->nodes, 2u);
  EXPECT_EQ(spec->my_node, 1u);
  EXPECT_EQ(spec->local_ranks, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(spec->ranks[2].node, 0u);
  EXPECT_EQ(spec->ranks[3].local_rank, 1);
}

TEST(JobInfo, registered_clients_are_local_ranks) {
  Infos infos;
  infos.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{8}));
  infos.add(PMIX_NUM_NODES, Value::of(std::uint32_t{2}));
  infos.add(PMIX_NODEID, Value::of(std::uint32_t{1}));
  const auto spec = read(infos, 2, {5, 7});
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->local_ranks, (std::vector<std::uint32_t>{5, 7}));
  EXPECT_EQ(spec->ranks[5].node, 1u);
  EXPECT_EQ(spec->ranks[0].node, none);
}

TEST(JobInfo, process_arrays_fill_the_columns) {
  Infos one, infos;
  one.add(PMIX_RANK, Value::of_rank(1));
  one.add(PMIX_LOCAL_RANK, Value::of(std::uint16_t{4}));
  one.add(PMIX_NODE_RANK, Value::of(std::uint16_t{5}));
  one.add(PMIX_APPNUM, Value::of(std::uint32_t{2}));
  one.add(PMIX_GLOBAL_RANK, Value::of_rank(99));
  one.add("a key of the host's own", Value::of(true));
  infos.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{2}));
  infos.add(PMIX_PROC_INFO_ARRAY, array_of(std::move(one)));
  const auto spec = read(infos, 2);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->ranks[1].local_rank, 4);
  EXPECT_EQ(spec->ranks[1].node_rank, 5);
  EXPECT_EQ(spec->ranks[1].appnum, 2u);
  EXPECT_EQ(spec->ranks[1].global_rank, 99u);
  EXPECT_EQ(spec->apps, 3u);
  EXPECT_TRUE(std::any_of(spec->keys.begin(), spec->keys.end(),
                          [](const auto& key) { return key.key == "a key of the host's own"; }));
}

TEST(JobInfo, nothing_but_a_name) {
  Infos infos;
  infos.add(PMIX_REGISTER_NODATA, Value::of(true));
  const auto spec = read(infos, 1);
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->ranks.empty());
  EXPECT_EQ(spec->local_capacity, 1u);
}

TEST(JobInfo, what_makes_no_sense_is_refused) {
  const auto refused = [](const char* key, Value value) {
    Infos infos;
    infos.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{2}));
    infos.add(key, std::move(value));
    const auto spec = read(infos, 2);
    return !spec && spec.error().code == Errc::invalid;
  };
  Infos no_rank, far_rank;
  no_rank.add(PMIX_LOCAL_RANK, Value::of(std::uint16_t{0}));
  far_rank.add(PMIX_RANK, Value::of_rank(0x7fffffff));
  EXPECT_TRUE(refused(PMIX_PROC_MAP, Value::of(std::string_view("0,x"))));
  EXPECT_TRUE(refused(PMIX_PROC_MAP, Value::of(std::uint32_t{1})));
  EXPECT_TRUE(refused(PMIX_LOCAL_PEERS, Value::of(std::string_view("0,5"))));
  EXPECT_TRUE(refused(PMIX_LOCAL_PEERS, Value::of(std::string_view("0;1"))));
  EXPECT_TRUE(refused(PMIX_PROC_INFO_ARRAY, Value::of(true)));
  EXPECT_TRUE(refused(PMIX_PROC_INFO_ARRAY, array_of(std::move(no_rank))));
  EXPECT_TRUE(refused(PMIX_PROC_INFO_ARRAY, array_of(std::move(far_rank))));
  EXPECT_TRUE(refused(PMIX_JOB_SIZE, Value::of(std::uint32_t{0xfffffff0})));
}

}  // namespace
}  // namespace weft::server
