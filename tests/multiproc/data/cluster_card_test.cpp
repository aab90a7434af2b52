// SPDX-License-Identifier: BSD-3-Clause
// Servers of one cluster: the cards that fences bring and Gets fetch, and the keys that only another node's
// server knows.
#include "tests/multiproc/harness/cluster.hpp"

namespace weft::test {
namespace {

/// Nothing travels at the fence; each reads the cards of all others: short ones, longer than one read, longer
/// than a page.
int cards_of_all_sizes(const Words&) {
  Client client;
  const auto value = [](pmix_rank_t rank, std::size_t size) {
    return std::string(size, static_cast<char>('a' + rank));
  };
  const auto size_of = [](pmix_rank_t rank) { return std::size_t{50} << (3 * rank); };
  check_status(put_bytes("first", value(client.me.rank, size_of(client.me.rank))), PMIX_SUCCESS);
  check_status(put("last", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t i = 0; i < client.size; ++i) {
    const auto r = (client.me.rank + i) % client.size;
    check_equal(get(client.peer(r), "first").bytes(), value(r, size_of(r)));
    check_equal(get(client.peer(r), "last").u64(), r);
  }
  check_status(get(client.peer(0), "nobody has put this").status, PMIX_ERR_NOT_FOUND);
  client.finalize();
  return 0;
}

/// Cards are read while their ranks write them: what is found is whole and never older than what was found
/// before.
int cards_that_grow(const Words&) {
  Client client;
  check_status(put("count", std::uint64_t{0}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  std::uint64_t seen = 0;
  for (std::uint64_t count = 1; count <= 150; ++count) {
    check_status(put("count", count), PMIX_SUCCESS);
    check_status(put_bytes("ballast", std::string(count % 90, static_cast<char>('a' + count % 26))),
                 PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    const auto now = get(far, "count", Infos().flag(PMIX_GET_REFRESH_CACHE)).u64();
    check(now >= seen && now <= 150, "a count that went back");
    seen = now;
  }
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(far, "count", Infos().flag(PMIX_GET_REFRESH_CACHE)).u64(), 150);
  client.finalize();
  return 0;
}

/// With WEFT_GET_WAIT=inf: what a full fence brought is complete, what was committed since is fetched or
/// waited for.
int keys_of_later_commits(const Words&) {
  Client client;
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence({}, collect()), PMIX_SUCCESS);
  check_status(get(far, "later").status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_status(put("more", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check_equal(get(far, "more").u64(), far.rank);

  const auto near = client.peer(client.me.rank ^ 1);
  const auto patient = std::move(Infos().integer(PMIX_TIMEOUT, 30));
  Waiter waiting, bounded, of_this_node;
  check_status(PMIx_Get_nb(&far, "later", nullptr, 0, Waiter::on_value, &waiting), PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&far, "later", patient.data(), patient.size(), Waiter::on_value, &bounded),
               PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&near, "later", nullptr, 0, Waiter::on_value, &of_this_node), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  check(!waiting.over() && !bounded.over() && !of_this_node.over(), "a key that no rank has put");
  check_status(put("only on this node", std::uint64_t{1}, PMIX_LOCAL), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);  // the card is longer, and nothing in it is for the other nodes
  check_status(fence(), PMIX_SUCCESS);
  check(!waiting.over() && !bounded.over() && !of_this_node.over(), "a key that no rank has put");
  check_status(fence(), PMIX_SUCCESS);  // all ranks have looked before the first puts it
  check_status(put("later", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  for (auto* waiter : {&waiting, &bounded, &of_this_node}) check_status(waiter->wait(), PMIX_SUCCESS);
  check_equal(waiting.number, far.rank);
  check_equal(bounded.number, far.rank);
  check_equal(of_this_node.number, near.rank);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// A key that is never put, of ranks of both nodes: words: seconds of WEFT_GET_WAIT.
int keys_that_never_come(const Words& words) {
  using Clock = std::chrono::steady_clock;
  Client client;
  const auto far = client.peer((client.me.rank + ranks_a_node) % client.size);
  const auto near = client.peer(client.me.rank ^ 1);
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  const std::chrono::duration<double> limit(std::stod(words.at(0)));
  for (const auto& proc : {near, far}) {
    const auto before = Clock::now();
    check_status(get(proc, "never").status, PMIX_ERR_NOT_FOUND);
    check(Clock::now() - before >= limit, "it did not wait as long as WEFT_GET_WAIT says");
  }
  // With a deadline it is the deadline that says how long, also where a full fence has brought the card.
  check_status(fence({}, collect()), PMIX_SUCCESS);
  const auto bounded = std::move(Infos().integer(PMIX_TIMEOUT, 1));
  Waiter of_far, of_near;
  const auto before = Clock::now();
  check_status(PMIx_Get_nb(&far, "never", bounded.data(), bounded.size(), Waiter::on_value, &of_far),
               PMIX_SUCCESS);
  check_status(PMIx_Get_nb(&near, "never", bounded.data(), bounded.size(), Waiter::on_value, &of_near),
               PMIX_SUCCESS);
  check_status(of_far.wait(), PMIX_ERR_TIMEOUT);
  check_status(of_near.wait(), PMIX_ERR_TIMEOUT);
  check(Clock::now() - before >= std::chrono::seconds(1), "it did not wait as long as PMIX_TIMEOUT says");
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// PMIX_IMMEDIATE asks the server of the rank's node, and waits for no commit.
int gets_at_once(const Words&) {
  Client client;
  const auto at_once = std::move(Infos().flag(PMIX_IMMEDIATE));
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r)
    check_status(get(client.peer(r), "card", at_once).status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  check_status(fence(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    check_equal(get(client.peer(r), "card", at_once).u64(), r);
    check_status(get(client.peer(r), "never", at_once).status, PMIX_ERR_NOT_FOUND);
  }
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// No fence before it, so no node has said where cards lie.
int modex_without_a_fence(const Words&) {
  Client client;
  check_status(put("card", std::uint64_t{client.me.rank}), PMIX_SUCCESS);
  check_status(PMIx_Commit(), PMIX_SUCCESS);
  for (pmix_rank_t r = 0; r < client.size; ++r) check_equal(get(client.peer(r), "card").u64(), r);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// What only the server of another node was told: asked of every rank, and of every node in each way to name
/// it.
int keys_kept_afar(const Words&) {
  Client client;
  const auto node_of = [](pmix_rank_t rank) { return rank / ranks_a_node; };
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    const auto rank = client.peer(r);
    const bool is_here = node_of(r) == node_of(client.me.rank);
    check_equal(get(rank, PMIX_CPUSET).text(), "cpus of " + std::to_string(r));
    Waiter later;
    check_status(PMIx_Get_nb(&rank, PMIX_CPUSET, nullptr, 0, Waiter::on_value, &later), PMIX_SUCCESS);
    check_status(later.wait(), PMIX_SUCCESS);
    // Gets that are answered from the cache of this node's server.
    for (const char* near : {PMIX_OPTIONAL, PMIX_IMMEDIATE})
      check_status(get(rank, PMIX_CPUSET, std::move(Infos().flag(near))).status,
                   is_here ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
    check_status(get(rank, "pmix.none").status, PMIX_ERR_NOT_FOUND);
    const auto node = node_of(r);
    const auto by_number = std::move(Infos().flag(PMIX_NODE_INFO).number(PMIX_NODEID, node));
    const auto by_name =
        std::move(Infos().flag(PMIX_NODE_INFO).text(PMIX_HOSTNAME, "host" + std::to_string(node)));
    check_equal(get(client.job, PMIX_AVAIL_PHYS_MEMORY, by_number).u64(), 10 + node);
    check_equal(get(client.job, PMIX_AVAIL_PHYS_MEMORY, by_name).u64(), 10 + node);
    check_equal(get(rank, PMIX_AVAIL_PHYS_MEMORY, std::move(Infos().flag(PMIX_NODE_INFO))).u64(), 10 + node);
  }
  const auto nowhere = std::move(Infos().flag(PMIX_NODE_INFO).number(PMIX_NODEID, 77));
  check_status(get(client.job, PMIX_AVAIL_PHYS_MEMORY, nowhere).status, PMIX_ERR_NOT_FOUND);
  check_status(fence(), PMIX_SUCCESS);
  client.finalize();
  return 0;
}

/// What the servers of other nodes alone know is in this node's segment, or is not.
void expect_keys_of_all(const Client& client, bool are_here) {
  const auto of = [&](pmix_rank_t rank) { return rank / ranks_a_node; };
  for (pmix_rank_t r = 0; r < client.size; ++r) {
    const auto status = are_here || of(r) == of(client.me.rank) ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
    auto near = std::move(Infos().flag(PMIX_OPTIONAL).flag(PMIX_NODE_INFO).number(PMIX_NODEID, of(r)));
    const auto cpus = get(client.peer(r), PMIX_CPUSET, optional());
    const auto memory = get(client.job, PMIX_AVAIL_PHYS_MEMORY, near);
    const auto said = get(client.job, ("pmix.said.by." + std::to_string(of(r))).c_str(), optional());
    check_status(cpus.status, status);
    check_status(memory.status, status);
    check_status(said.status, status);
    if (status != PMIX_SUCCESS) continue;
    check_equal(cpus.text(), "cpus of " + std::to_string(r));
    check_equal(memory.u64(), 10 + of(r));
    check_equal(said.text(), "host" + std::to_string(of(r)));
  }
  // Each host has said it: its own word goes before.
  check_equal(get(client.job, "pmix.said.by.all", optional()).text(),
              "host" + std::to_string(of(client.me.rank)));
}

/// generated_keys first: in the very first fence, where nodes say besides where their cards lie.
int generated_keys(const Words& words) {
  Client client;
  auto generated = std::move(Infos().flag(PMIX_COLLECT_GENERATED_JOB_INFO));
  if (words.empty()) {
    check_status(fence({}, collect()), PMIX_SUCCESS);
    expect_keys_of_all(client, false);
  }
  // One rank that asks is enough.
  check_status(client.me.rank == 0 ? fence({}, generated) : fence(), PMIX_SUCCESS);
  expect_keys_of_all(client, true);
  PMIX_INFO_REQUIRED(&generated.data()[0]);
  check_status(fence({}, generated), PMIX_SUCCESS);
  expect_keys_of_all(client, true);
  if (client.me.rank == 0 || client.me.rank + 1 == client.size)
    check_status(fence({client.peer(0), client.peer(client.size - 1)}, generated), PMIX_SUCCESS);
  // Nodes that want this, that, both or nothing, in all combinations: all have what any of them wants.
  for (std::uint32_t round = 0; round < 16; ++round) {
    const auto wish = round >> (client.me.rank / ranks_a_node % 2 == 0 ? 0 : 2) & 3;
    check_status(put("card", std::uint64_t{round}), PMIX_SUCCESS);
    check_status(PMIx_Commit(), PMIX_SUCCESS);
    Infos how;
    if ((wish & 1) != 0) how.flag(PMIX_COLLECT_DATA);
    if ((wish & 2) != 0) how.flag(PMIX_COLLECT_GENERATED_JOB_INFO);
    check_status(fence({}, how), PMIX_SUCCESS);
    if ((round & 5) == 0) continue;
    for (pmix_rank_t r = 0; r < client.size; ++r)
      check_equal(get(client.peer(r), "card", optional()).u64(), round);
    check_status(fence(), PMIX_SUCCESS);
  }
  client.finalize();
  return 0;
}

}  // namespace

void add_cluster_card_programs(Programs& programs) {
  programs.add("cards_of_all_sizes", cards_of_all_sizes);
  programs.add("cards_that_grow", cards_that_grow);
  programs.add("keys_of_later_commits", keys_of_later_commits);
  programs.add("keys_that_never_come", keys_that_never_come);
  programs.add("gets_at_once", gets_at_once);
  programs.add("modex_without_a_fence", modex_without_a_fence);
  programs.add("keys_kept_afar", keys_kept_afar);
  programs.add("generated_keys", generated_keys);
}

TEST_P(ClusterTest, cards_of_all_sizes) {
  run("cards_of_all_sizes");
}
TEST_P(ClusterTest, cards_of_all_sizes_without_segments) {
  run("cards_of_all_sizes", 2, Segment::refused);
}
TEST_P(ClusterTest, cards_that_grow) {
  run("cards_that_grow", 2);
}
TEST_P(ClusterTest, keys_of_later_commits_are_waited_for) {
  run_waiting("inf", "keys_of_later_commits", Segment::mapped);
}
TEST_P(ClusterTest, keys_of_later_commits_are_waited_for_without_segments) {
  run_waiting("inf", "keys_of_later_commits", Segment::refused);
}
TEST_P(ClusterTest, keys_that_never_come) {
  run_waiting("0.2", "keys_that_never_come", Segment::mixed);
}
TEST_P(ClusterTest, gets_at_once) {
  run_waiting("inf", "gets_at_once", Segment::mixed);
}
TEST_P(ClusterTest, modex_without_a_fence) {
  run("modex_without_a_fence");
}
TEST_P(ClusterTest, keys_that_only_another_node_was_told) {
  run("keys_kept_afar");
}
TEST_P(ClusterTest, keys_that_only_another_node_was_told_without_segments) {
  run("keys_kept_afar", 2, Segment::refused);
}
TEST_P(ClusterTest, keys_that_a_fence_brings_from_the_servers_of_other_nodes) {
  run("generated_keys");
}
TEST_P(ClusterTest, keys_that_a_fence_brings_from_the_servers_of_other_nodes_without_segments) {
  run("generated_keys", 2, Segment::refused);
}
TEST_P(ClusterTest, keys_that_the_first_fence_brings_from_the_servers_of_other_nodes) {
  run("generated_keys", 3, Segment::mapped, {"first"});
}
// A program of nodes_test.cpp: what it sees is the same, whether hosts or servers carry it.
TEST_P(ClusterTest, fetch_on_demand) {
  run("fetch_on_demand", 2);
}
TEST_P(ClusterTest, ask_early) {
  run("ask_early", 2);
}
TEST_P(ClusterTest, get_during_fence) {
  run("get_during_fence", 2);
}

}  // namespace weft::test
