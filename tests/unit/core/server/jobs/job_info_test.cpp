// SPDX-License-Identifier: BSD-3-Clause
// What a host says about a job, in the many ways in which hosts say it.
#include "core/server/jobs/job_info.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/store/get/lookup.hpp"

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

TEST(JobInfo, a_launcher_may_ask_for_the_start) {
  Infos infos;
  infos.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{3}));
  EXPECT_FALSE(read(infos, 3)->has_start_cells);
  infos.add("weft.start", Value::of(true));
  const auto spec = read(infos, 3);
  ASSERT_TRUE(spec);
  EXPECT_TRUE(spec->has_start_cells);
  for (const auto& key : spec->keys) EXPECT_NE(key.key, "weft.start") << "it is no key of the job";
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

Infos of(const char* key, Value value) {
  Infos out;
  out.add(key, std::move(value));
  return out;
}

/// A job of three ranks on two nodes of which "here" is the second.
Infos two_nodes() {
  Infos out;
  out.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{3}));
  out.add(PMIX_NODE_MAP, Value::of("there,here"));
  out.add(PMIX_PROC_MAP, Value::of("0;1,2"));
  return out;
}

TEST(JobInfo, what_says_two_things_is_refused_and_the_line_says_which) {
  struct Row {
    const char* key;
    Value value;
    const char* line;
  };
  std::vector<Row> rows;
  const auto add = [&](const char* key, Value value, const char* line) {
    rows.push_back({key, std::move(value), line});
  };
  add(PMIX_JOB_SIZE, Value::of(std::uint32_t{4}), "PMIX_JOB_SIZE is there twice, with two values");
  add(PMIX_JOB_SIZE, Value::of("three"), "PMIX_JOB_SIZE is not a number");
  add(PMIX_NODEID, Value::of(true), "PMIX_NODEID is not a number");
  add(PMIX_NODE_MAP, Value::of("there,nowhere"), "PMIX_NODE_MAP is there twice, with two values");
  add(PMIX_NODE_MAP, Value::of(std::uint32_t{1}), "PMIX_NODE_MAP");
  add(PMIX_PROC_MAP, Value::of("0,1;2"), "PMIX_PROC_MAP is there twice, with two values");
  add(PMIX_LOCAL_PEERS, Value::of("0"),
      "PMIX_LOCAL_PEERS has 1 ranks, and the number of local processes is 2");
  add(PMIX_PROC_INFO_ARRAY, array_of(of(PMIX_RANK, Value::of_rank(3))), "a rank above PMIX_JOB_SIZE");
  add(PMIX_PROC_INFO_ARRAY, array_of(of(PMIX_LOCAL_RANK, Value::of(std::uint16_t{0}))), "has no PMIX_RANK");
  Infos wrong;
  wrong.add(PMIX_RANK, Value::of_rank(1));
  wrong.add(PMIX_LOCAL_RANK, Value::of("first"));
  add(PMIX_PROC_INFO_ARRAY, array_of(std::move(wrong)), "PMIX_LOCAL_RANK of a process is not a number");
  add(PMIX_NODE_INFO_ARRAY, array_of(of(PMIX_HOSTNAME, Value::of("nowhere"))),
      "PMIX_NODE_INFO_ARRAY has neither");
  add(PMIX_JOB_INFO_ARRAY, Value::of(true), "PMIX_JOB_INFO_ARRAY is not an array of infos");
  for (auto& row : rows) {
    auto infos = two_nodes();
    infos.add(row.key, std::move(row.value));
    ::testing::internal::CaptureStderr();
    const auto spec = read(infos, 2);
    const auto said = ::testing::internal::GetCapturedStderr();
    EXPECT_FALSE(spec) << row.line;
    EXPECT_NE(said.find(row.line), std::string::npos) << said << " instead of " << row.line;
    EXPECT_NE(said.find("job is not registered"), std::string::npos) << said;
  }
  EXPECT_TRUE(read(two_nodes(), 2));
  EXPECT_FALSE(read(two_nodes(), 1));  // the map has two here
  auto twice = two_nodes();
  twice.add(PMIX_JOB_SIZE, Value::of(std::uint64_t{3}));
  EXPECT_TRUE(read(twice, 2));  // the same, twice
}

TEST(JobInfo, maps_that_do_not_fit_each_other_are_refused) {
  const auto reads = [](const char* nodes, const char* ranks, int local) {
    Infos infos;
    infos.add(PMIX_NODE_MAP, Value::of(nodes));
    infos.add(PMIX_PROC_MAP, Value::of(ranks));
    return static_cast<bool>(read(infos, local));
  };
  EXPECT_TRUE(reads("here,there", "0;1", 1));
  EXPECT_TRUE(reads("here,there,idle", "0;1", 1));
  EXPECT_FALSE(reads("here", "0;1", 1));
  EXPECT_FALSE(reads("here,there", "0;0", 1));
  EXPECT_TRUE(reads("a,b", "0;1", 0));
}

TEST(JobInfo, arrays_in_arrays_in_any_order) {
  Infos node_array, app_array, job_array, session, other_session, infos;
  node_array.add(PMIX_HOSTNAME, Value::of("there"));
  node_array.add(PMIX_MAX_PROCS, Value::of(std::uint32_t{9}));
  app_array.add(PMIX_APPNUM, Value::of(std::uint32_t{1}));
  app_array.add(PMIX_APP_SIZE, Value::of(std::uint32_t{1}));
  app_array.add(PMIX_APPLDR, Value::of_rank(2));
  job_array.add(PMIX_NODE_INFO_ARRAY, array_of(std::move(node_array)));  // before the map that it needs
  job_array.add(PMIX_APP_INFO_ARRAY, array_of(std::move(app_array)));
  const auto plain = two_nodes();
  for (std::size_t i = 0; i < plain.size(); ++i)
    job_array.add(data::key_of(plain.data()[i]), *Value::copy_of(plain.data()[i].value));
  session.add(PMIX_SESSION_ID, Value::of(std::uint32_t{7}));
  session.add(PMIX_UNIV_SIZE, Value::of(std::uint32_t{40}));
  session.add(PMIX_JOB_INFO_ARRAY, array_of(std::move(job_array)));
  other_session.add(PMIX_SESSION_ID, Value::of(std::uint32_t{8}));
  other_session.add(PMIX_UNIV_SIZE, Value::of(std::uint32_t{80}));
  infos.add(PMIX_SESSION_INFO_ARRAY, array_of(std::move(other_session)));
  infos.add(PMIX_SESSION_INFO_ARRAY, array_of(std::move(session)));
  infos.add(PMIX_SESSION_ID, Value::of(std::uint32_t{7}));  // which of them is the job's
  infos.add(PMIX_HOSTNAME_ALIASES, Value::of("here,localhost"));
  infos.add(PMIX_WDIR, Value::of("/tmp"));
  const auto spec = read(infos, 2);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->ranks.size(), 3u);
  EXPECT_EQ(spec->my_node, 1u);
  EXPECT_EQ(spec->apps, 2u);
  EXPECT_EQ(spec->ranks[2].appnum, 1u);
  const auto has = [&](store::KeyOwner owner, std::string_view key) {
    return std::any_of(spec->keys.begin(), spec->keys.end(),
                       [&](const auto& k) { return k.owner == owner && k.key == key; });
  };
  EXPECT_TRUE(has({store::Realm::node, 0}, PMIX_MAX_PROCS));
  EXPECT_TRUE(has(store::own_session, PMIX_UNIV_SIZE));
  EXPECT_TRUE(has(store::own_session, PMIX_SESSION_ID));
  EXPECT_TRUE(has({store::Realm::session, 8}, PMIX_UNIV_SIZE));
  EXPECT_TRUE(has({store::Realm::node, 1}, PMIX_HOSTNAME_ALIASES));
  EXPECT_TRUE(has({store::Realm::job, 0}, PMIX_WDIR));  // of one of two applications, and not known which
}

TEST(JobInfo, arrays_without_end_are_refused) {
  Infos inner;
  inner.add(PMIX_JOB_SIZE, Value::of(std::uint32_t{1}));
  for (int depth = 0; depth < 12; ++depth) {
    Infos outer;
    outer.add(PMIX_JOB_INFO_ARRAY, array_of(std::move(inner)));
    inner = std::move(outer);
  }
  EXPECT_FALSE(read(inner, 1));
}

TEST(JobInfo, openpmix_spellings) {
  Infos infos;
  infos.add(PMIX_NODE_MAP, Value::of("pmix[node[2:1-3],here]"));
  infos.add(PMIX_PROC_MAP, Value::of("pmix[0-1;2-3;4-5;6-7]"));
  const auto spec = read(infos, 2);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->nodes, 4u);
  EXPECT_EQ(spec->local_ranks, (std::vector<std::uint32_t>{6, 7}));
}

TEST(JobInfo, no_data_means_no_keys) {
  auto infos = two_nodes();
  infos.add("odd.key", Value::of(true));
  infos.add(PMIX_REGISTER_NODATA, Value::of(true));
  const auto spec = read(infos, 2);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->ranks.size(), 3u);
  EXPECT_TRUE(spec->keys.empty());
}

}  // namespace
}  // namespace weft::server
