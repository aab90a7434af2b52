// SPDX-License-Identifier: BSD-3-Clause
// A job of several nodes as its host registers it: the compact map, the same on every node. Everything that
// describes placement follows from it for any rank, and it takes few bytes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/data/node_map.hpp"
#include "core/server/jobs/job_info.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {
namespace {

using data::Infos;
using data::Value;
using store::none;

using RanksOfNode = std::vector<std::vector<std::uint32_t>>;

struct AppRanks {
  std::uint32_t leader, size;
  std::string list;  ///< instead, where they do not follow each other
};

Value as_array(Infos infos) {
  auto value = store::array_of(infos);
  return value ? std::move(*value) : Value();
}

/// The infos that a host registers on node `mine`, with nothing about single ranks.
Infos compact_map(std::uint32_t mine, const std::vector<std::string>& names, const RanksOfNode& ranks_of_node,
                  const std::vector<AppRanks>& apps) {
  std::uint32_t ranks = 0;
  for (const auto& ranks_there : ranks_of_node) ranks += static_cast<std::uint32_t>(ranks_there.size());
  Infos infos;
  infos.add(PMIX_JOB_SIZE, Value::of(ranks));
  infos.add(PMIX_NODEID, Value::of(mine));
  infos.add(PMIX_NODE_MAP, Value::of(std::string_view(data::encode_node_map(names).value())));
  infos.add(PMIX_PROC_MAP, Value::of(std::string_view(data::encode_proc_map(ranks_of_node).value())));
  for (std::uint32_t a = 0; a < apps.size(); ++a) {
    Infos app;
    app.add(PMIX_APPNUM, Value::of(a));
    app.add(PMIX_APP_SIZE, Value::of(apps[a].size));
    if (apps[a].list.empty())
      app.add(PMIX_APPLDR, Value::of_rank(apps[a].leader));
    else
      app.add("weft.app.ranks", Value::of(std::string_view(apps[a].list)));
    infos.add(PMIX_APP_INFO_ARRAY, as_array(std::move(app)));
  }
  return infos;
}

/// A node's segment with that job in it.
struct RegisteredJob {
  RegisteredJob(std::uint32_t local, const Infos& infos, std::size_t segment_bytes = std::size_t{1} << 30) {
    auto made = shm::Segment::create(segment_bytes);
    if (!made || !store::format_segment(*made)) std::abort();
    segment.emplace(std::move(*made));
    auto spec = read_job_info("job", static_cast<int>(local), infos.data(), infos.size(), {}, "elsewhere");
    EXPECT_TRUE(spec) << spec.error().what;
    if (!spec) return;
    auto writer = store::JobWriter::create(*segment, *spec, {.card_bytes = 64 << 10});
    EXPECT_TRUE(writer) << writer.error().what;
    if (writer) view = writer->view();
  }
  Result<Value> get(std::uint32_t rank, const char* key) const {
    return store::lookup(view, rank, key, {}, {true, 0});
  }
  std::string text(std::uint32_t rank, const char* key) const {
    const auto value = get(rank, key);
    return value && value->get().type == PMIX_STRING ? value->get().data.string : "?";
  }
  std::uint32_t number(std::uint32_t rank, const char* key) const {
    const auto value = get(rank, key);
    if (!value) return none;
    if (value->get().type == PMIX_PROC_RANK) return value->get().data.rank;
    return static_cast<std::uint32_t>(data::as_unsigned(value->get()).value_or(none));
  }
  std::optional<shm::Segment> segment;
  store::JobView view;
};

// Three nodes with 3, 1 and 2 ranks, dealt out by node; two applications that follow each other.
TEST(JobMap, every_rank_of_every_node_is_known_on_every_node) {
  const std::vector<std::string> names{"alpha", "beta", "gamma"};
  const RanksOfNode ranks_of_node{{0, 3, 5}, {1}, {2, 4}};
  const char* const peers[] = {"0,3,5", "1", "2,4"};
  const std::uint32_t node_of[] = {0, 1, 2, 0, 2, 0}, local_rank_of[] = {0, 0, 0, 1, 1, 2};
  for (std::uint32_t mine = 0; mine < 3; ++mine) {
    const auto infos = compact_map(mine, names, ranks_of_node, {{0, 4, ""}, {4, 2, ""}});
    const RegisteredJob job(static_cast<std::uint32_t>(ranks_of_node[mine].size()), infos);
    ASSERT_TRUE(job.view);
    EXPECT_EQ(job.view.my_node(), mine);
    EXPECT_EQ(job.view.local_count(), ranks_of_node[mine].size());
    for (std::uint32_t r = 0; r < 6; ++r) {
      const auto node = node_of[r];
      EXPECT_EQ(job.number(r, PMIX_NODEID), node) << r;
      EXPECT_EQ(job.text(r, PMIX_HOSTNAME), names[node]) << r;
      EXPECT_EQ(job.number(r, PMIX_LOCAL_RANK), local_rank_of[r]) << r;
      EXPECT_EQ(job.number(r, PMIX_NODE_RANK), local_rank_of[r]) << r;
      EXPECT_EQ(job.text(r, PMIX_LOCAL_PEERS), peers[node]) << r;
      EXPECT_EQ(job.number(r, PMIX_LOCAL_SIZE), ranks_of_node[node].size()) << r;
      EXPECT_EQ(job.number(r, PMIX_NODE_SIZE), ranks_of_node[node].size()) << r;
      EXPECT_EQ(job.number(r, PMIX_LOCALLDR), ranks_of_node[node].front()) << r;
      EXPECT_EQ(job.number(r, PMIX_APPNUM), r < 4 ? 0u : 1u) << r;
      EXPECT_EQ(job.number(r, PMIX_APP_RANK), r < 4 ? r : r - 4) << r;
      EXPECT_EQ(job.number(r, PMIX_APPLDR), r < 4 ? 0u : 4u) << r;
      EXPECT_EQ(job.number(r, PMIX_APP_SIZE), r < 4 ? 4u : 2u) << r;
      EXPECT_EQ(job.number(r, PMIX_GLOBAL_RANK), r) << r;
      EXPECT_EQ(job.number(r, PMIX_REINCARNATION), 0u) << r;
      // No map tells what a process is bound to.
      for (const auto* key : {PMIX_CPUSET, PMIX_LOCALITY_STRING}) {
        const auto value = job.get(r, key);
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error().code, Errc::not_found);
      }
    }
    const auto whole = static_cast<std::uint32_t>(PMIX_RANK_WILDCARD);
    for (const auto* key : {PMIX_JOB_SIZE, PMIX_UNIV_SIZE, PMIX_MAX_PROCS})
      EXPECT_EQ(job.number(whole, key), 6u);
    EXPECT_EQ(job.number(whole, PMIX_NUM_NODES), 3u);
    EXPECT_EQ(job.number(whole, PMIX_JOB_NUM_APPS), 2u);
    EXPECT_EQ(job.number(whole, PMIX_NPROC_OFFSET), 0u);
    EXPECT_EQ(job.text(whole, PMIX_LOCAL_PEERS), peers[mine]);
    EXPECT_EQ(job.number(whole, PMIX_LOCAL_SIZE), ranks_of_node[mine].size());
    EXPECT_EQ(job.text(whole, PMIX_NODE_LIST), "alpha,beta,gamma");
    EXPECT_EQ(job.text(whole, PMIX_NODE_MAP), data::encode_node_map(names).value());
    EXPECT_EQ(job.text(whole, PMIX_PROC_MAP), data::encode_proc_map(ranks_of_node).value());
    EXPECT_EQ(job.text(whole, PMIX_ANL_MAP), "(vector,(0,3,1),(0,1,1),(2,1,1),(0,1,1))");
    EXPECT_EQ(job.text(whole, PMIX_PROC_MAP_RAW), "0,3,5;1;2,4");
  }
}

TEST(JobMap, applications_whose_ranks_do_not_follow_each_other) {
  const auto infos = compact_map(0, {"a"}, {{0, 1, 2, 3, 4, 5}}, {{0, 3, "0,2,5"}, {0, 3, "1,3-4"}});
  const RegisteredJob job(6, infos);
  ASSERT_TRUE(job.view);
  const std::uint32_t app_of[] = {0, 1, 0, 1, 1, 0}, app_rank_of[] = {0, 0, 1, 1, 2, 2};
  for (std::uint32_t r = 0; r < 6; ++r) {
    EXPECT_EQ(job.number(r, PMIX_APPNUM), app_of[r]) << r;
    EXPECT_EQ(job.number(r, PMIX_APP_RANK), app_rank_of[r]) << r;
    EXPECT_EQ(job.number(r, PMIX_APPLDR), app_of[r]) << r;
    EXPECT_EQ(job.number(r, PMIX_APP_SIZE), 3u) << r;
  }
}

TEST(JobMap, what_the_host_says_of_a_rank_goes_before_what_follows_from_the_map) {
  auto infos = compact_map(0, {"a", "b"}, {{0, 1}, {2, 3}}, {{0, 2, ""}, {2, 2, ""}});
  Infos rank;
  rank.add(PMIX_RANK, Value::of_rank(3));
  rank.add(PMIX_APPNUM, Value::of(std::uint32_t{0}));
  rank.add(PMIX_APP_RANK, Value::of_rank(2));
  rank.add(PMIX_LOCAL_RANK, Value::of(std::uint16_t{7}));
  rank.add(PMIX_CPUSET, Value::of("hwloc:3"));
  infos.add(PMIX_PROC_INFO_ARRAY, as_array(std::move(rank)));
  infos.add(PMIX_NPROC_OFFSET, Value::of_rank(50));
  const RegisteredJob job(2, infos);
  ASSERT_TRUE(job.view);
  EXPECT_EQ(job.number(3, PMIX_APPNUM), 0u);
  EXPECT_EQ(job.number(3, PMIX_APP_RANK), 2u);
  EXPECT_EQ(job.number(3, PMIX_LOCAL_RANK), 7u);
  EXPECT_EQ(job.text(3, PMIX_CPUSET), "hwloc:3");
  EXPECT_EQ(job.number(2, PMIX_APPNUM), 1u);
  EXPECT_EQ(job.number(1, PMIX_GLOBAL_RANK), 51u);
  EXPECT_EQ(job.number(static_cast<std::uint32_t>(PMIX_RANK_WILDCARD), PMIX_NPROC_OFFSET), 50u);
}

TEST(JobMap, lists_of_ranks_that_cannot_be_are_refused) {
  for (const char* list : {"0,9", "0;1", "x", "0,1,4294967295"}) {
    const auto infos = compact_map(0, {"a"}, {{0, 1, 2}}, {{0, 2, list}});
    const auto spec = read_job_info("job", 3, infos.data(), infos.size(), {}, "a");
    ASSERT_FALSE(spec) << list;
    EXPECT_EQ(spec.error().code, Errc::invalid) << list;
  }
}

// TARGETS: job map and indices take at most 32 bytes a rank of the job on each node.
TEST(JobMap, a_million_ranks_on_ten_thousand_nodes_take_32_bytes_each) {
  constexpr std::uint32_t nodes = 10'000, each = 100, ranks = nodes * each;
  for (const bool by_node : {false, true}) {
    std::vector<std::string> names;
    RanksOfNode ranks_of_node(nodes);
    for (std::uint32_t n = 0; n < nodes; ++n) names.push_back("node" + std::to_string(10'000 + n));
    for (std::uint32_t r = 0; r < ranks; ++r) ranks_of_node[by_node ? r % nodes : r / each].push_back(r);
    const auto infos =
        compact_map(4711, names, ranks_of_node, {{0, ranks / 2, ""}, {ranks / 2, ranks / 2, ""}});
    const auto touched = [](const shm::Segment& segment, const store::JobView& job) {
      struct stat ours {
      }, theirs{};
      EXPECT_EQ(::fstat(segment.server.fd(), &ours), 0);
      EXPECT_EQ(::fstat(job.header().clients_fd, &theirs), 0);
      return static_cast<std::uint64_t>(ours.st_blocks + theirs.st_blocks) * 512;
    };
    const RegisteredJob job(each, infos, std::size_t{16} << 30);
    ASSERT_TRUE(job.view);
    EXPECT_LE(touched(*job.segment, job.view),
              std::uint64_t{32} * ranks);  // of the whole segment, all else included
    RecordProperty(by_node ? "bytes_by_node" : "bytes_by_slot",
                   std::to_string(touched(*job.segment, job.view)));
    const auto last = ranks - 1;
    EXPECT_EQ(job.text(last, PMIX_HOSTNAME), "node19999");
    EXPECT_EQ(job.number(last, PMIX_LOCAL_RANK), each - 1);
    EXPECT_EQ(job.number(last, PMIX_APP_RANK), ranks / 2 - 1);
    EXPECT_EQ(job.number(last, PMIX_LOCALLDR), by_node ? nodes - 1 : ranks - each);
    EXPECT_EQ(job.number(last, PMIX_LOCAL_SIZE), each);
    EXPECT_EQ(job.view.local_count(), each);
  }
}

}  // namespace
}  // namespace weft::server
