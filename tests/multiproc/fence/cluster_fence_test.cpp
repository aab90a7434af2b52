// SPDX-License-Identifier: BSD-3-Clause
// Servers of one cluster: fences of whole jobs and of sets, one after the other and at once.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <thread>

#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

/// Fences of all kinds back to back, on overlapping sets; what was committed before a full one is there after
/// it.
int fence_storm(const Words&) {
  Client client;
  const auto me = client.me.rank;
  const auto n = client.size;
  std::vector<pmix_proc_t> odd_or_even, not_first;
  for (pmix_rank_t r = 0; r < n; ++r) {
    if (r % 2 == me % 2) odd_or_even.push_back(client.peer(r));
    if (r != 0) not_first.push_back(client.peer(r));
  }
  for (std::uint64_t round = 1; round <= 60; ++round) {
    check_status(put("round", round * 1000 + me), PMIX_SUCCESS);
    if (round % 20 == me % 20)  // only some commit more, and large values
      check_status(put_bytes("large", std::string(40'000, static_cast<char>('a' + me))), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence({}, collect()), PMIX_SUCCESS);
    for (pmix_rank_t r = 0; r < n; ++r)
      check_equal(get(client.peer(r), "round", optional()).u64(), round * 1000 + r);
    check_status(fence(odd_or_even), PMIX_SUCCESS);
    if (me != 0) check_status(fence(not_first), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
  }
  for (pmix_rank_t r = 0; r < n; ++r)
    check_equal(
        get(client.peer(r), "large", optional()).bytes() == std::string(40'000, static_cast<char>('a' + r)),
        1);
  client.finalize();
  return 0;
}

/// Several threads of each rank in one set at the same time: so many consecutive fences of it, in whatever
/// order the threads come. words: the set.
int fence_of_threads(const Words& words) {
  Client client;
  constexpr std::ptrdiff_t threads = 4;
  constexpr std::uint64_t rounds = 50;
  std::vector<pmix_proc_t> set;  // empty: the whole job
  std::vector<pmix_rank_t> members;
  if (words.at(0) == "set") members = {1, 2, 3};  // one of the first node, both of the second
  for (const auto rank : members) set.push_back(client.peer(rank));
  for (pmix_rank_t r = 0; set.empty() && r < client.size; ++r) members.push_back(r);
  const bool is_member = std::find(members.begin(), members.end(), client.me.rank) != members.end();

  std::barrier together(threads);
  std::atomic<std::uint64_t> ended{0};
  const auto body = [&](bool leads) {
    // All fences of a round are of one kind; otherwise the first thread would decide the kind of each.
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (leads) {
        check_status(put("round", round), PMIX_SUCCESS);
        check_status(PMIx_Commit(), PMIX_SUCCESS);
      }
      together.arrive_and_wait();
      const bool travels = round % 2 == 0;
      check_status(travels ? fence(set, collect()) : fence(set), PMIX_SUCCESS);
      ++ended;
      together.arrive_and_wait();
      for (std::size_t i = 0; leads && travels && i < members.size(); ++i) {
        const auto seen = get(client.peer(members[i]), "round", optional()).u64();
        // One of this node may have written the next already.
        check(seen == round || seen == round + 1, "a card of another round");
      }
    }
    for (std::uint64_t i = 0; i < rounds; ++i) {  // each at its own pace
      check_status(fence(set), PMIX_SUCCESS);
      ++ended;
    }
  };
  if (is_member) {
    std::vector<std::thread> others;
    for (std::ptrdiff_t i = 1; i < threads; ++i) others.emplace_back(body, false);
    body(true);
    for (auto& other : others) other.join();
    check_equal(ended.load(), 2 * rounds * threads);
  }
  check_status(put("last", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "last", optional()).u64(), r);
  client.finalize();
  return 0;
}

/// The cards are to travel as the first node has it, not as the others have: they travel, and all of them, as
/// on one node.
int nodes_disagree(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  const std::vector<pmix_proc_t> set{client.peer(1), client.peer(2), client.peer(3)};
  const bool is_member = client.me.rank >= 1 && client.me.rank <= 3;
  for (std::uint64_t round = 0; round < 10; ++round) {
    const bool wants = client.me.rank < ranks_a_node;
    check_status(wants ? fence({}, collect()) : fence(),
                 PMIX_SUCCESS);  // the first fence of all is one of them
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "card", optional()).u64(), round == 0 ? r : 1000 * round - 500 + r);
    check_status(fence(), PMIX_SUCCESS);
    check_status(put("card", 1000 * round + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    if (is_member) {
      check_status(wants ? fence(set, collect()) : fence(set), PMIX_SUCCESS);
      for (const auto& peer : set) check_equal(get(peer, "card", optional()).u64(), 1000 * round + peer.rank);
      check_status(fence(set), PMIX_SUCCESS);
    }
    check_status(fence(), PMIX_SUCCESS);
    check_status(put("card", 1000 * round + 500 + client.me.rank), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
  }
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r)
    check_equal(get(client.peer(r), "card", optional()).u64(), 9500 + r);
  client.finalize();
  return 0;
}

/// A set does not get again what it got in an earlier fence; other sets, which have not, do.
int deltas_of_sets(const Words&) {
  Client client;
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  const auto back = client.peer((client.me.rank + client.size - ranks_a_node) % client.size);
  for (std::uint64_t round = 0; round < 10; ++round) {
    check_status(put("card", round), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    Waiter there, here;
    std::vector<pmix_proc_t> ahead{client.me, far}, behind{back, client.me};
    check_status(PMIx_Fence_nb(ahead.data(), 2, collect().data(), 1, Waiter::on_status, &there),
                 PMIX_SUCCESS);
    check_status(PMIx_Fence_nb(behind.data(), 2, collect().data(), 1, Waiter::on_status, &here),
                 PMIX_SUCCESS);
    check_status(there.wait(), PMIX_SUCCESS);
    check_status(here.wait(), PMIX_SUCCESS);
    check_equal(get(far, "card", optional()).u64(), round);
  }
  check_status(fence({}, collect()), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card", optional()).u64(), 9);
  client.finalize();
  return 0;
}

/// Fences of both jobs together, of one rank of each, and of each job by itself.
int fences_of_two_jobs(const Words&) {
  Client client;
  const auto last = client.size - 1;
  const std::vector<pmix_proc_t> both{proc_of(second_cluster_job, PMIX_RANK_WILDCARD),
                                      proc_of(cluster_job, PMIX_RANK_WILDCARD)};
  const std::vector<pmix_proc_t> pair{proc_of(cluster_job, 0), proc_of(second_cluster_job, last)};
  const bool is_first_job = std::string_view(client.me.nspace) == cluster_job;
  const bool is_of_pair = client.me.rank == (is_first_job ? 0 : last);
  const auto value = [](const char* nspace, pmix_rank_t rank, std::uint64_t round) {
    return round * 1000 + rank + (nspace == cluster_job ? 0 : 100);
  };
  for (std::uint64_t round = 0; round < 20; ++round) {
    check_status(put("round", value(is_first_job ? cluster_job : second_cluster_job, client.me.rank, round)),
                 PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    check_status(fence(both, collect()), PMIX_SUCCESS);
    for (const char* nspace : {cluster_job, second_cluster_job})
      for (pmix_rank_t r = 0; r < client.size; ++r)
        check_equal(get(proc_of(nspace, r), "round", optional()).u64(), value(nspace, r, round));
    if (is_of_pair) check_status(fence(pair), PMIX_SUCCESS);
    check_status(fence(), PMIX_SUCCESS);
    check_status(fence(both), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

/// The user's word goes before what the program asks for. words: whether cards travel.
int mode_of_the_user(const Words& words) {
  Client client;
  const bool travels = words.at(0) == "full";
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  check_status(travels ? fence() : fence({}, collect()), PMIX_SUCCESS);
  check_status(get(far, "card", optional()).status, travels ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
  check_equal(get(far, "card").u64(), far.rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

}  // namespace

void add_cluster_fence_programs(Programs& programs) {
  programs.add("fence_storm", fence_storm);
  programs.add("fence_of_threads", fence_of_threads);
  programs.add("nodes_disagree", nodes_disagree);
  programs.add("deltas_of_sets", deltas_of_sets);
  programs.add("fences_of_two_jobs", fences_of_two_jobs);
  programs.add("mode_of_the_user", mode_of_the_user);
}

INSTANTIATE_TEST_SUITE_P(Over, ClusterTest, ::testing::ValuesIn(fabrics()),
                         [](const auto& transport) { return transport.param; });
INSTANTIATE_TEST_SUITE_P(Over, ClusterMessageTest, ::testing::ValuesIn(two_fabrics()),
                         [](const auto& transport) { return transport.param; });

TEST_P(ClusterTest, fence_storm) {
  run("fence_storm");
}
TEST_P(ClusterMessageTest, fence_storm_of_two_nodes_without_segments) {
  run("fence_storm", 2, Segment::refused);
}
TEST_P(ClusterTest, fence_storm_of_five_nodes) {
  run("fence_storm", 5, Segment::mixed);
}
TEST_P(ClusterMessageTest, threads_of_a_rank_in_fences_of_the_whole_job) {
  run("fence_of_threads", 3, Segment::mapped, {"job"});
}
TEST_P(ClusterMessageTest, threads_of_a_rank_in_fences_of_the_whole_job_by_message) {
  run("fence_of_threads", 3, Segment::mixed, {"job"});
}
TEST_P(ClusterMessageTest, threads_of_a_rank_in_fences_of_a_set) {
  run("fence_of_threads", 3, Segment::mapped, {"set"});
}
TEST_P(ClusterMessageTest, nodes_that_disagree_on_whether_cards_travel) {
  run("nodes_disagree");
}
TEST_P(ClusterMessageTest, fences_of_two_jobs) {
  run("fences_of_two_jobs");
}
TEST_P(ClusterMessageTest, fences_of_two_jobs_by_message) {
  run("fences_of_two_jobs", 2, Segment::mixed);
}
TEST_P(ClusterMessageTest, deltas_of_sets) {
  run("deltas_of_sets");
}
TEST_P(ClusterMessageTest, the_user_chooses_the_mode_of_fences) {
  for (const char* mode : {"full", "sparse"}) {
    auto variables = over();
    variables.emplace_back("WEFT_FENCE", mode);
    Cluster cluster(2, Segment::mapped, "mode_of_the_user", variables, false, {mode});
    cluster.finish();
  }
}
// A program of nodes_test.cpp: what it sees is the same, whether hosts or servers carry it.
TEST_P(ClusterMessageTest, sets_across) {
  run("sets_across", 2);
}

}  // namespace weft::test
