// SPDX-License-Identifier: BSD-3-Clause
// How long a server counts the collectives of a signature: at a cluster of two nodes, of which one is here.
#include "core/server/fences/exchange/signatures.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

using collectives::Generation;
using collectives::Generations;

struct SignaturesTest : ::testing::Test {
  SignaturesTest() {
    ClusterSpec spec;
    spec.self = 0;
    spec.nodes = 2;
    spec.key = *mesh::JobKey::from(std::vector<std::byte>(mesh::JobKey::bytes, std::byte{7}));
    spec.transport = "shm";
    EXPECT_TRUE(cluster.open(spec).is_open);
  }
  ~SignaturesTest() override { cluster.stop(nullptr); }

  static Participants fence_of(const Procs& procs) { return Participants(procs); }
  static Participants group_fence(std::uint64_t series) {
    return Participants({link::make_proc("job", 0), link::make_proc("job", 2)},
                        {OperationName::Kind::group_fence, "group", series});
  }
  Generations& generations() { return cluster.engine().generations(); }
  /// As Exchanges: the generation that begins.
  Generation begin(const Participants& procs) {
    signatures.use(procs);
    return generations().next(procs.signature());
  }
  /// So many that nothing is left of those that are over.
  void pass_many() {
    for (std::uint64_t i = 0; i < Generations::most_others; ++i) generations().next({~i, i});
  }

  asio::io_context io;
  Loop loop{io};
  Cluster cluster{loop, "here"};
  Signatures signatures{cluster};
};

TEST_F(SignaturesTest, of_a_set_all_are_counted_until_its_namespace_ends) {
  const auto job = fence_of({link::make_proc("job", PMIX_RANK_WILDCARD)});
  const auto both =
      fence_of({link::make_proc("job", 0), link::make_proc("job", 1), link::make_proc("other", 0)});
  EXPECT_EQ(begin(job), 1u);
  EXPECT_EQ(begin(both), 1u);
  pass_many();
  signatures.end_namespace("another");
  EXPECT_EQ(begin(job), 2u);
  signatures.end_namespace("other");
  EXPECT_EQ(begin(both), 2u) << "the latest that are over are counted: it goes on";
  signatures.end_namespace("job");
  signatures.end_namespace("job");
  pass_many();
  EXPECT_EQ(begin(job), 1u);
  EXPECT_EQ(begin(both), 1u);
}

TEST_F(SignaturesTest, of_the_members_of_a_group_all_are_counted_until_they_are_others) {
  signatures.begin_series(5);
  EXPECT_EQ(begin(group_fence(5)), 1u);
  EXPECT_EQ(begin(group_fence(5)), 2u);
  pass_many();
  signatures.end_namespace("job");  // a group that lives on has a member in another one
  EXPECT_EQ(begin(group_fence(5)), 3u);
  signatures.begin_series(6);
  signatures.end_series(5);
  signatures.end_series(0);
  EXPECT_EQ(begin(group_fence(5)), 4u) << "what members are owed";
  EXPECT_EQ(begin(group_fence(6)), 1u);
  pass_many();
  EXPECT_EQ(begin(group_fence(6)), 2u);
  EXPECT_EQ(begin(group_fence(5)), 1u);
}

TEST_F(SignaturesTest, of_a_group_that_is_not_known_here_the_latest_are_counted) {
  EXPECT_EQ(begin(group_fence(7)), 1u);
  EXPECT_EQ(begin(group_fence(7)), 2u);
  pass_many();
  EXPECT_EQ(begin(group_fence(7)), 1u);
}

TEST_F(SignaturesTest, memory_is_bounded_whatever_comes_and_goes) {
  for (std::uint64_t i = 1; i <= 5000; ++i) {
    signatures.begin_series(i);
    begin(group_fence(i));
    begin(fence_of({link::make_proc("job " + std::to_string(i), PMIX_RANK_WILDCARD)}));
    signatures.end_series(i);
    signatures.end_namespace("job " + std::to_string(i));
  }
  EXPECT_EQ(generations().size(), Generations::most_others);
}

}  // namespace
}  // namespace weft::server
