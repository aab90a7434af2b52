// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/job_keys.hpp"

#include "tests/unit/core/store/segment/jobs.hpp"

namespace weft::store {
namespace {

struct JobKeys : ::testing::Test {
  Node node;
  JobWriter job = std::move(*node.add(two_node_job()));
  const JobView& view = job.view();

  std::string of(KeyOwner owner, std::string_view key) const {
    return words(compute_key(view, owner, key, hash_key(key)));
  }
};

TEST_F(JobKeys, of_each_rank) {
  for (std::uint32_t r = 0; r < 6; ++r) {
    const KeyOwner owner{Realm::rank, r};
    const auto n = [](std::uint32_t v) { return std::to_string(v); };
    EXPECT_EQ(of(owner, PMIX_RANK), "rank " + n(r));
    EXPECT_EQ(of(owner, PMIX_LOCAL_RANK), "u16 " + n(r / 2));
    EXPECT_EQ(of(owner, PMIX_NODE_RANK), "u16 " + n(r / 2));
    EXPECT_EQ(of(owner, PMIX_NODEID), "u32 " + n(r % 2));
    EXPECT_EQ(of(owner, PMIX_APPNUM), "u32 " + n(r / 4));
    EXPECT_EQ(of(owner, PMIX_APP_RANK), "rank " + n(r % 4));
    EXPECT_EQ(of(owner, PMIX_GLOBAL_RANK), "rank " + n(100 + r));
    EXPECT_EQ(of(owner, PMIX_HOSTNAME), r % 2 == 0 ? "s alpha" : "s beta");
    EXPECT_EQ(of(owner, PMIX_REINCARNATION), "u32 0");
  }
}

// The job level's keys about this node are not true of a rank elsewhere.
TEST_F(JobKeys, of_the_node_of_a_rank_elsewhere) {
  for (const auto* key : {PMIX_LOCAL_PEERS, PMIX_LOCAL_SIZE, PMIX_NODE_SIZE, PMIX_LOCALLDR})
    EXPECT_EQ(of({Realm::rank, 2}, key), not_found()) << key;
  EXPECT_EQ(of({Realm::rank, 5}, PMIX_LOCAL_PEERS), "s 1,3,5");
  EXPECT_EQ(of({Realm::rank, 5}, PMIX_LOCAL_SIZE), "u32 3");
  EXPECT_EQ(of({Realm::rank, 5}, PMIX_NODE_SIZE), "u32 3");
  EXPECT_EQ(of({Realm::rank, 5}, PMIX_LOCALLDR), "rank 1");
  EXPECT_EQ(words(lookup(view, 2, PMIX_LOCAL_PEERS, {}, {true, 0})), "s 0,2,4");
  EXPECT_EQ(words(lookup(view, 5, PMIX_LOCAL_PEERS, {}, {true, 0})), "s 1,3,5");
}

TEST_F(JobKeys, the_map_in_plain_words) {
  EXPECT_EQ(of({Realm::job, 0}, PMIX_NODE_MAP_RAW), "s alpha,beta");
  EXPECT_EQ(of({Realm::job, 0}, PMIX_PROC_MAP_RAW), "s 0,2,4;1,3,5");
  EXPECT_EQ(of({Realm::job, 0}, PMIX_NPROC_OFFSET), "rank 100");
  EXPECT_EQ(of({Realm::job, 0}, PMIX_ANL_MAP), "s (vector,(0,2,1),(0,2,1),(0,2,1))");
  const auto anl = [&](std::string name, std::vector<std::uint32_t> nodes) {
    auto spec = flat_job(std::move(name), static_cast<std::uint32_t>(nodes.size()), 0);
    spec.nodes = 5;
    for (std::size_t r = 0; r < nodes.size(); ++r) spec.ranks[r].node = nodes[r];
    const auto other = node.add(spec);
    return other ? words(compute_key(other->view(), {Realm::job, 0}, PMIX_ANL_MAP, hash_key(PMIX_ANL_MAP)))
                 : "?";
  };
  EXPECT_EQ(anl("one", {0, 0, 0}), "s (vector,(0,1,3))");
  EXPECT_EQ(anl("even", {0, 0, 1, 1, 2, 2}), "s (vector,(0,3,2))");
  EXPECT_EQ(anl("uneven", {0, 0, 1, 1, 2, 4, 4}), "s (vector,(0,2,2),(2,1,1),(4,1,2))");
  EXPECT_EQ(anl("backwards", {3, 2, 1}), "s (vector,(3,1,1),(2,1,1),(1,1,1))");
  EXPECT_EQ(anl("nobody", {}), not_found());
  EXPECT_EQ(anl("unknown", {0, none}), not_found());
}

TEST_F(JobKeys, of_the_job) {
  const KeyOwner owner{Realm::job, 0};
  EXPECT_EQ(of(owner, PMIX_JOB_SIZE), "u32 6");
  EXPECT_EQ(of(owner, PMIX_MAX_PROCS), "u32 6");
  EXPECT_EQ(of(owner, PMIX_NSPACE), "s job");
  EXPECT_EQ(of(owner, PMIX_JOBID), "s job");
  EXPECT_EQ(of(owner, PMIX_NODE_MAP), "s alpha,beta");
  EXPECT_EQ(of(owner, PMIX_PROC_MAP), "s 0,2,4;1,3,5");
  EXPECT_EQ(of(owner, PMIX_ALLOCATED_NODELIST), "s alpha,beta");
  EXPECT_EQ(of(owner, PMIX_NUM_NODES), "u32 2");
  EXPECT_EQ(of(owner, PMIX_JOB_NUM_APPS), "u32 2");
  for (const auto* of_node : {PMIX_NODEID, PMIX_HOSTNAME}) EXPECT_EQ(of(owner, of_node), not_found());
  EXPECT_EQ(of(owner, PMIX_LOCAL_SIZE), "u32 3");
  EXPECT_EQ(of(owner, PMIX_LOCAL_PEERS), "s 0,2,4");
  EXPECT_EQ(of(owner, PMIX_LOCALLDR), "rank 0");
}

TEST_F(JobKeys, of_a_node_and_an_application) {
  EXPECT_EQ(of({Realm::node, 1}, PMIX_LOCAL_PEERS), "s 1,3,5");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_LOCALLDR), "rank 1");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_LOCAL_SIZE), "u32 3");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_NODEID), "u32 1");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_NODE_SIZE), "u32 3");
  EXPECT_EQ(of({Realm::node, 0}, PMIX_HOSTNAME), "s alpha");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_HOSTNAME), "s beta");
  EXPECT_EQ(of({Realm::app, 0}, PMIX_APP_SIZE), "u32 4");
  EXPECT_EQ(of({Realm::app, 1}, PMIX_APP_SIZE), "u32 2");
  EXPECT_EQ(of({Realm::app, 1}, PMIX_APPLDR), "rank 4");
  EXPECT_EQ(of({Realm::app, 1}, PMIX_APPNUM), "u32 1");
}

TEST_F(JobKeys, of_an_application_over_nodes) {
  const KeyOwner first{Realm::app, 0}, second{Realm::app, 1};
  EXPECT_EQ(of(first, PMIX_NUM_NODES), "u32 2");
  EXPECT_EQ(of(first, PMIX_MAX_PROCS), "u32 4");
  EXPECT_EQ(of(second, PMIX_NUM_SLOTS), "u32 2");
  EXPECT_EQ(of(second, PMIX_LOCAL_SIZE), "u32 1");
  EXPECT_EQ(of(first, PMIX_PROC_MAP), "s 0,2;1,3");
  EXPECT_EQ(of(second, PMIX_PROC_MAP_RAW), "s 4;5");
  EXPECT_EQ(of(second, PMIX_NODE_LIST), "s alpha,beta");
}

TEST_F(JobKeys, of_sessions) {
  const KeyOwner other{Realm::session, 12};
  EXPECT_EQ(of(own_session, PMIX_UNIV_SIZE), "u32 6");  // of the job, where the host says nothing
  EXPECT_EQ(of(own_session, PMIX_NUM_NODES), "u32 2");
  EXPECT_EQ(of(own_session, PMIX_NODE_LIST), "s alpha,beta");
  for (const auto* key : {PMIX_UNIV_SIZE, PMIX_NUM_NODES, PMIX_NODE_LIST})
    EXPECT_EQ(of(other, key), not_found());
  auto spec = two_node_job("in sessions");
  spec.keys.push_back({own_session, PMIX_SESSION_ID, Value::of(std::uint32_t{5})});
  spec.keys.push_back({own_session, PMIX_UNIV_SIZE, Value::of(std::uint32_t{32})});
  spec.keys.push_back({own_session, PMIX_NODE_MAP, Value::of("pmix[n[1:1-4]]")});
  spec.keys.push_back({other, PMIX_MAX_PROCS, Value::of(std::uint32_t{64})});
  spec.keys.push_back({other, PMIX_NODE_LIST, Value::of("x,y,z")});
  const auto job = node.add(spec);
  ASSERT_TRUE(job);
  const auto get = [&](std::uint32_t session, const char* key) {
    return words(lookup_in_session(job->view(), session, key));
  };
  for (const auto* most : {PMIX_UNIV_SIZE, PMIX_MAX_PROCS, PMIX_NUM_SLOTS}) {
    EXPECT_EQ(get(5, most), "u32 32");
    EXPECT_EQ(get(12, most), "u32 64");
    EXPECT_EQ(get(0, most), not_found());
  }
  EXPECT_EQ(get(5, PMIX_NUM_NODES), "u32 4");
  EXPECT_EQ(get(5, PMIX_NODE_LIST), "s n1,n2,n3,n4");
  EXPECT_EQ(get(12, PMIX_NUM_NODES), "u32 3");
  EXPECT_EQ(words(lookup_session(node.segment.bytes(), 12, PMIX_NUM_NODES)), "u32 3");
  EXPECT_EQ(words(lookup_session(node.segment.bytes(), 13, PMIX_NUM_NODES)), not_found());
}

TEST_F(JobKeys, of_packages_and_cpusets) {
  auto spec = two_node_job("bound");
  const auto bind = [&](std::uint32_t rank, const char* locality) {
    spec.keys.push_back({{Realm::rank, rank}, PMIX_LOCALITY_STRING, Value::of(locality)});
    spec.keys.push_back({{Realm::rank, rank}, PMIX_CPUSET, Value::of("hwloc:0x1")});
  };
  bind(0, "NM0:SK1:CR0:HT0");
  bind(2, "NM0:SK0:CR4:HT8");
  bind(4, "NM0:SK1:CR1:HT1");
  bind(1, "NM0-1:SK0-1:CR0-7:HT0-15");  // of two packages
  const auto job = node.add(spec);
  ASSERT_TRUE(job);
  const auto get = [&](KeyOwner owner, const char* key) {
    return compute_key(job->view(), owner, key, hash_key(key));
  };
  const auto package_rank = [&](std::uint32_t rank) {
    return words(get({Realm::rank, rank}, PMIX_PACKAGE_RANK));
  };
  EXPECT_EQ(package_rank(0), words(Value::of(std::uint16_t{0})));
  EXPECT_EQ(package_rank(2), words(Value::of(std::uint16_t{0})));
  EXPECT_EQ(package_rank(4), words(Value::of(std::uint16_t{1})));
  EXPECT_EQ(package_rank(1), not_found());
  EXPECT_EQ(package_rank(3), not_found());
  const auto sets = get({Realm::node, 0}, PMIX_LOCAL_CPUSETS);
  ASSERT_TRUE(sets);
  ASSERT_EQ(sets->get().data.darray->size, 3u);
  EXPECT_STREQ(static_cast<char**>(sets->get().data.darray->array)[2], "hwloc:0x1");
  EXPECT_FALSE(get({Realm::node, 1}, PMIX_LOCAL_CPUSETS));  // not all of them are bound
  const auto procs = get({Realm::node, 1}, PMIX_LOCAL_PROCS);
  ASSERT_TRUE(procs);
  ASSERT_EQ(procs->get().data.darray->size, 3u);
  const auto& last = static_cast<pmix_proc_t*>(procs->get().data.darray->array)[2];
  EXPECT_STREQ(last.nspace, "bound");
  EXPECT_EQ(last.rank, 5u);
}

TEST_F(JobKeys, a_node_has_room_for_what_runs_there_or_for_what_the_host_says) {
  EXPECT_EQ(of({Realm::node, 1}, PMIX_MAX_PROCS), "u32 3");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_NODE_OVERSUBSCRIBED), not_found());
  auto spec = two_node_job("slots");
  spec.keys.push_back({{Realm::node, 0}, PMIX_MAX_PROCS, Value::of(std::uint32_t{2})});
  spec.keys.push_back({{Realm::node, 1}, PMIX_NUM_SLOTS, Value::of(std::uint32_t{3})});
  const auto job = node.add(spec);
  ASSERT_TRUE(job);
  const auto is_over = [&](std::uint32_t n) {
    const auto value = compute_key(job->view(), {Realm::node, n}, PMIX_NODE_OVERSUBSCRIBED,
                                   hash_key(PMIX_NODE_OVERSUBSCRIBED));
    return value && value->get().data.flag;
  };
  EXPECT_TRUE(is_over(0));
  EXPECT_FALSE(is_over(1));
}

TEST_F(JobKeys, slots_of_all_nodes_are_one_text) {
  int made = 0;
  const auto slots_of = [&](std::string_view text, std::uint32_t n) {
    auto spec = two_node_job("text" + std::to_string(made++));
    spec.keys.push_back({{Realm::job, 0}, "weft.node.slots", Value::of(text)});
    const auto job = node.add(spec);
    const KeyOwner owner{Realm::node, n};
    const auto most = compute_key(job->view(), owner, PMIX_MAX_PROCS, hash_key(PMIX_MAX_PROCS));
    const auto over =
        compute_key(job->view(), owner, PMIX_NODE_OVERSUBSCRIBED, hash_key(PMIX_NODE_OVERSUBSCRIBED));
    return std::to_string(most->get().data.uint32) + (!over ? "" : over->get().data.flag ? " over" : " fits");
  };
  EXPECT_EQ(slots_of("2*8", 0), "8 fits");
  EXPECT_EQ(slots_of("2*8", 1), "8 fits");
  EXPECT_EQ(slots_of("1*8,1*2", 1), "2 over");
  EXPECT_EQ(slots_of("1*8", 1), "3");
  for (const auto* text : {"", "1", "*", "1*", "x*8", "1*8,", "1*8;1*2", "1*8,1*99999999999"})
    EXPECT_EQ(slots_of(text, 1), "3") << text;
}

TEST_F(JobKeys, scratch_folders_lie_in_the_one_that_the_host_names) {
  auto spec = two_node_job("scratch");
  spec.keys.push_back({{Realm::job, 0}, "weft.tmpdir", Value::of(std::string_view("/tmp/s"))});
  const auto job = node.add(spec);
  const auto get = [&](std::uint32_t rank, std::string_view key, std::optional<Realm> realm = {}) {
    GetDirectives how;
    how.realm = realm;
    return words(lookup(job->view(), rank, key, how, {true, 0}));
  };
  EXPECT_EQ(scratch_folder(job->view()), "/tmp/s");
  EXPECT_EQ(get(PMIX_RANK_WILDCARD, PMIX_TMPDIR), "s /tmp/s");
  EXPECT_EQ(get(0, PMIX_TMPDIR, Realm::session), "s /tmp/s");
  EXPECT_EQ(get(0, PMIX_TMPDIR, Realm::node), "s /tmp/s");
  const auto is_removed = lookup(job->view(), 0, PMIX_TDIR_RMCLEAN, {}, {true, 0});
  EXPECT_TRUE(is_removed && is_removed->get().type == PMIX_BOOL && is_removed->get().data.flag);
  EXPECT_EQ(get(PMIX_RANK_WILDCARD, PMIX_NSDIR), "s /tmp/s/scratch");
  EXPECT_EQ(get(0, PMIX_NSDIR, Realm::job), "s /tmp/s/scratch");
  EXPECT_EQ(get(0, PMIX_PROCDIR), "s /tmp/s/scratch/0");
  EXPECT_EQ(get(4, PMIX_PROCDIR), "s /tmp/s/scratch/4");
  // Folders of another node are in a place that its own server knows.
  EXPECT_EQ(get(1, PMIX_PROCDIR), not_found());
  EXPECT_EQ(get(1, PMIX_NSDIR, Realm::node), not_found());
}

TEST_F(JobKeys, there_are_no_scratch_folders_where_the_host_names_none) {
  EXPECT_EQ(scratch_folder(view), "");
  for (const auto* key : {PMIX_TMPDIR, PMIX_NSDIR, PMIX_PROCDIR, PMIX_TDIR_RMCLEAN})
    EXPECT_EQ(words(lookup(view, 0, key, {}, {true, 0})), not_found()) << key;
}

TEST_F(JobKeys, of_what_there_is_not) {
  EXPECT_EQ(of({Realm::rank, 6}, PMIX_RANK), not_found());
  EXPECT_EQ(of({Realm::rank, PMIX_RANK_WILDCARD}, PMIX_RANK), not_found());
  EXPECT_EQ(of({Realm::node, 2}, PMIX_NODEID), not_found());
  EXPECT_EQ(of({Realm::node, none}, PMIX_LOCAL_PEERS), not_found());
  EXPECT_EQ(of({Realm::app, 2}, PMIX_APP_SIZE), not_found());
  EXPECT_EQ(of({Realm::session, 0}, PMIX_NODEID), not_found());
  EXPECT_EQ(of({Realm::rank, 0}, "pmix.nothing"), not_found());
  EXPECT_EQ(of({Realm::rank, 0}, PMIX_JOB_SIZE), not_found());  // of another realm
  EXPECT_EQ(of({Realm::job, 0}, PMIX_LOCAL_RANK), not_found());
}

TEST_F(JobKeys, a_field_that_the_host_left_out_is_not_invented) {
  JobSpec bare;
  bare.nspace = "bare";
  bare.ranks.resize(2);
  const auto other = node.add(bare);
  ASSERT_TRUE(other);
  for (const auto* key : {PMIX_LOCAL_RANK, PMIX_NODE_RANK, PMIX_NODEID, PMIX_APPNUM, PMIX_APP_RANK,
                          PMIX_GLOBAL_RANK, PMIX_HOSTNAME})
    EXPECT_EQ(words(compute_key(other->view(), {Realm::rank, 1}, key, hash_key(key))), not_found()) << key;
  EXPECT_EQ(words(compute_key(other->view(), {Realm::rank, 1}, PMIX_RANK, hash_key(PMIX_RANK))), "rank 1");
  EXPECT_EQ(words(compute_key(other->view(), {Realm::job, 0}, PMIX_LOCAL_PEERS, hash_key(PMIX_LOCAL_PEERS))),
            not_found());
}

TEST_F(JobKeys, all_of_a_subject_at_once_keeps_what_is_there) {
  data::Infos out;
  out.add(PMIX_HOSTNAME, Value::of("the host's word"));
  compute_all(view, {Realm::rank, 3}, out);
  EXPECT_STREQ(out.find(PMIX_HOSTNAME)->value.data.string, "the host's word");
  for (const auto* key : {PMIX_LOCAL_RANK, PMIX_NODE_RANK, PMIX_NODEID, PMIX_APPNUM, PMIX_APP_RANK,
                          PMIX_GLOBAL_RANK, PMIX_RANK})
    EXPECT_NE(out.find(key), nullptr) << key;
  data::Infos nothing;
  compute_all(view, {Realm::rank, 99}, nothing);
  EXPECT_EQ(nothing.size(), 0u);
}

TEST_F(JobKeys, nodes_by_name_and_ranks_by_node) {
  EXPECT_EQ(node_names(view), "alpha,beta");
  EXPECT_EQ(node_by_name(view, "beta"), 1u);
  EXPECT_EQ(node_by_name(view, "bet"), none);
  EXPECT_EQ(node_by_name(view, ""), none);
  const auto there = ranks_on(view, 1);
  EXPECT_EQ(std::vector<std::uint32_t>(there.begin(), there.end()), (std::vector<std::uint32_t>{1, 3, 5}));
  EXPECT_TRUE(ranks_on(view, 9).empty());
  EXPECT_TRUE(ranks_on(view, none).empty());
}

TEST_F(JobKeys, ranks_on_nodes_that_are_empty_or_not_known) {
  for (const std::uint32_t nodes : {1u, 2u, 3u, 7u}) {
    auto spec = flat_job("nodes" + std::to_string(nodes), 20, 0);
    spec.nodes = nodes;
    std::vector<std::vector<std::uint32_t>> expected(nodes);
    for (std::uint32_t r = 0; r < 20; ++r) {
      spec.ranks[r].node =
          r % 5 == 4 ? none : (r * 7 + 3) % nodes / 2 * 2 % nodes;  // odd nodes are mostly empty
      if (spec.ranks[r].node != none) expected[spec.ranks[r].node].push_back(r);
    }
    const auto other = node.add(spec);
    ASSERT_TRUE(other);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      const auto there = other->view().ranks_on(n);
      EXPECT_EQ(std::vector<std::uint32_t>(there.begin(), there.end()), expected[n]) << n << " of " << nodes;
    }
  }
  auto bad = flat_job("bad", 2, 0);
  bad.ranks[1].node = 1;
  EXPECT_EQ(node.add(bad).error().code, Errc::invalid);
  bad.ranks[1].node = 0;
  bad.ranks[1].appnum = 1;
  EXPECT_EQ(node.add(bad).error().code, Errc::invalid);
}

}  // namespace
}  // namespace weft::store
