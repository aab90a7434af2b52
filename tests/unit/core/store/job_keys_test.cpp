// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/job_keys.hpp"

#include "tests/unit/core/store/jobs.hpp"

namespace weft::store {
namespace {

struct JobKeys : ::testing::Test {
  Node node;
  JobWriter job = std::move(*node.add(two_node_job()));
  const JobView& view = job.view();

  std::string of(Subject subject, std::string_view key) const {
    return words(compute_key(view, subject, key, hash_key(key)));
  }
};

TEST_F(JobKeys, OfEachRank) {
  for (std::uint32_t r = 0; r < 6; ++r) {
    const Subject subject{Realm::rank, r};
    const auto n = [](std::uint32_t v) { return std::to_string(v); };
    EXPECT_EQ(of(subject, PMIX_RANK), "rank " + n(r));
    EXPECT_EQ(of(subject, PMIX_LOCAL_RANK), "u16 " + n(r / 2));
    EXPECT_EQ(of(subject, PMIX_NODE_RANK), "u16 " + n(r / 2));
    EXPECT_EQ(of(subject, PMIX_NODEID), "u32 " + n(r % 2));
    EXPECT_EQ(of(subject, PMIX_APPNUM), "u32 " + n(r / 4));
    EXPECT_EQ(of(subject, PMIX_APP_RANK), "rank " + n(r % 4));
    EXPECT_EQ(of(subject, PMIX_GLOBAL_RANK), "rank " + n(100 + r));
    EXPECT_EQ(of(subject, PMIX_HOSTNAME), r % 2 == 0 ? "s alpha" : "s beta");
  }
}

TEST_F(JobKeys, OfTheJob) {
  const Subject subject{Realm::job, 0};
  EXPECT_EQ(of(subject, PMIX_JOB_SIZE), "u32 6");
  EXPECT_EQ(of(subject, PMIX_UNIV_SIZE), "u32 6");
  EXPECT_EQ(of(subject, PMIX_MAX_PROCS), "u32 6");
  EXPECT_EQ(of(subject, PMIX_NUM_NODES), "u32 2");
  EXPECT_EQ(of(subject, PMIX_JOB_NUM_APPS), "u32 2");
  EXPECT_EQ(of(subject, PMIX_NODEID), "u32 0");
  EXPECT_EQ(of(subject, PMIX_HOSTNAME), "s alpha");
  EXPECT_EQ(of(subject, PMIX_LOCAL_SIZE), "u32 3");
  EXPECT_EQ(of(subject, PMIX_LOCAL_PEERS), "s 0,2,4");
  EXPECT_EQ(of(subject, PMIX_LOCALLDR), "rank 0");
}

TEST_F(JobKeys, OfANodeAndAnApplication) {
  EXPECT_EQ(of({Realm::node, 1}, PMIX_LOCAL_PEERS), "s 1,3,5");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_LOCALLDR), "rank 1");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_LOCAL_SIZE), "u32 3");
  EXPECT_EQ(of({Realm::node, 1}, PMIX_NODEID), "u32 1");
  EXPECT_EQ(of({Realm::app, 0}, PMIX_APP_SIZE), "u32 4");
  EXPECT_EQ(of({Realm::app, 1}, PMIX_APP_SIZE), "u32 2");
  EXPECT_EQ(of({Realm::app, 1}, PMIX_APPLDR), "rank 4");
  EXPECT_EQ(of({Realm::app, 1}, PMIX_APPNUM), "u32 1");
}

TEST_F(JobKeys, OfWhatThereIsNot) {
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

TEST_F(JobKeys, AFieldThatTheHostLeftOutIsNotInvented) {
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

TEST_F(JobKeys, AllOfASubjectAtOnceKeepsWhatIsThere) {
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

TEST_F(JobKeys, NodesByNameAndRanksByNode) {
  EXPECT_EQ(node_names(view), "alpha,beta");
  EXPECT_EQ(node_by_name(view, "beta"), 1u);
  EXPECT_EQ(node_by_name(view, "bet"), none);
  EXPECT_EQ(node_by_name(view, ""), none);
  EXPECT_EQ(ranks_on(view, 1), (std::vector<std::uint32_t>{1, 3, 5}));
  EXPECT_TRUE(ranks_on(view, 9).empty());
}

}  // namespace
}  // namespace weft::store
