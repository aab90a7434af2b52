// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/placement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tests/unit/tools/messages/refusal.hpp"

namespace weft::placement {
namespace {

using job::Rank;
using messages::expect_refusal;
using messages::refusal_of;
using messages::Stop;

using Numbers = std::vector<std::uint32_t>;

allocation::Hosts hosts_with(const Numbers& slots) {
  allocation::Hosts hosts;
  for (std::size_t i = 0; i < slots.size(); ++i)
    hosts.push_back({fmt::format("n{}", i), slots[i], job::most_ranks_a_node, false});
  return hosts;
}

/// The node of each rank.
Numbers placed(const Numbers& ranks, const allocation::Hosts& hosts, const PlacementRules& rules) {
  const RankTable table(place(ranks, hosts, rules));
  Numbers nodes;
  for (std::uint32_t r = 0; r < table.size(); ++r) nodes.push_back(table.node_of(Rank{r}));
  return nodes;
}

PlacementRules rules(job::MapBy map, bool may_oversubscribe = false) {
  PlacementRules made;
  made.map = map;
  made.may_oversubscribe = may_oversubscribe;
  return made;
}
PlacementRules per_node(std::uint32_t n, bool may_oversubscribe = false) {
  PlacementRules made = rules(job::MapBy::slot, may_oversubscribe);
  made.per_node = n;
  return made;
}

TEST(Placement, by_slot_fills_node_after_node) {
  EXPECT_EQ(placed({5}, hosts_with({2, 2, 2}), rules(job::MapBy::slot)), (Numbers{0, 0, 1, 1, 2}));
  EXPECT_EQ(placed({4}, hosts_with({1, 3}), rules(job::MapBy::numa)), (Numbers{0, 1, 1, 1}));
  EXPECT_EQ(placed({0}, hosts_with({2, 1}), rules(job::MapBy::core)), (Numbers{0, 0, 1}));  // one a slot
}

TEST(Placement, by_slot_oversubscribed_goes_round_by_slots) {
  EXPECT_EQ(placed({9}, hosts_with({2, 1}), rules(job::MapBy::slot, true)),
            (Numbers{0, 0, 0, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(placed({4}, hosts_with({1, 1}), rules(job::MapBy::slot, true)), (Numbers{0, 0, 1, 1}));
}

TEST(Placement, by_node_deals_in_turn) {
  EXPECT_EQ(placed({5}, hosts_with({2, 2, 2}), rules(job::MapBy::node)), (Numbers{0, 1, 2, 0, 1}));
  EXPECT_EQ(placed({6}, hosts_with({1, 4, 2}), rules(job::MapBy::node)), (Numbers{0, 1, 2, 1, 2, 1}));
  EXPECT_EQ(placed({5}, hosts_with({1, 1}), rules(job::MapBy::node, true)), (Numbers{0, 1, 0, 1, 0}));
}

TEST(Placement, rank_by_is_the_users_choice) {
  auto by_node = rules(job::MapBy::node);
  by_node.order = RankBy::slot;
  EXPECT_EQ(placed({5}, hosts_with({3, 3}), by_node), (Numbers{0, 0, 0, 1, 1}));
  auto by_slot = rules(job::MapBy::slot);
  by_slot.order = RankBy::node;
  EXPECT_EQ(placed({5}, hosts_with({3, 3}), by_slot), (Numbers{0, 1, 0, 1, 0}));
}

TEST(Placement, so_many_on_each_node) {
  EXPECT_EQ(placed({0}, hosts_with({2, 4, 2}), per_node(2)), (Numbers{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(placed({3}, hosts_with({2, 4, 2}), per_node(2)), (Numbers{0, 0, 1}));
  EXPECT_EQ(placed({0}, hosts_with({1, 1}), per_node(2, true)), (Numbers{0, 0, 1, 1}));
}

TEST(Placement, a_program_begins_where_the_one_before_ended) {
  EXPECT_EQ(placed({1, 3}, hosts_with({2, 2}), rules(job::MapBy::slot)), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(placed({1, 3}, hosts_with({2, 2}), rules(job::MapBy::node)), (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(placed({2, 2}, hosts_with({2, 2}), per_node(1)), (Numbers{0, 1, 0, 1}));
}

TEST(Placement, too_many_ranks_are_told_with_both_numbers_and_the_way_out) {
  const auto said = [](const Numbers& ranks, const allocation::Hosts& hosts, const PlacementRules& asked) {
    return refusal_of([&] { place(ranks, hosts, asked); });
  };
  for (const auto map : {job::MapBy::slot, job::MapBy::node}) {
    const auto line = said({4, 5}, hosts_with({4, 4}), rules(map));
    expect_refusal(line, "the job has 9 ranks, but the 2 nodes have 8 slots");
    expect_refusal(line, "--oversubscribe");
  }
  expect_refusal(said({2}, hosts_with({1}), rules(job::MapBy::slot)), "node 'n0' has 1 slots");
  expect_refusal(said({7}, hosts_with({4, 4}), per_node(3)),
                 "7 ranks are asked for, but 3 on each of 2 nodes are only 6");
  expect_refusal(said({0}, hosts_with({4, 2}), per_node(3)),
                 "node 'n1' has 2 slots, and ppr:3:node (-N) puts 3 ranks");
  allocation::Hosts limited = hosts_with({2, 2});
  limited[0].max_slots = 3;
  limited[1].max_slots = 2;
  for (const auto map : {job::MapBy::slot, job::MapBy::node}) {
    EXPECT_EQ(placed({5}, limited, rules(map, true)).size(), 5U);
    expect_refusal(said({6}, limited, rules(map, true)), "take at most 5 ranks");
  }
  expect_refusal(said({0}, limited, per_node(3, true)), "node 'n1' has 2 slots and takes at most 2 ranks");
  expect_refusal(said({65'536}, hosts_with({1}), rules(job::MapBy::slot, true)), "65535");
  expect_refusal(said({0}, hosts_with(Numbers(1000, 65'535)), rules(job::MapBy::slot)),
                 "more than a job can have");
}

TEST(Placement, any_shape_keeps_the_rules) {
  std::mt19937 random(41);
  unsigned refused = 0;
  for (int i = 0; i < 5000; ++i) {
    Numbers slots, ranks;
    for (unsigned k = 1 + random() % 12; k > 0; --k) slots.push_back(1 + random() % 6);
    for (unsigned k = 1 + random() % 3; k > 0; --k) ranks.push_back(1 + random() % 20);
    allocation::Hosts hosts = hosts_with(slots);
    for (auto& host : hosts)
      if (random() % 4 == 0) host.max_slots = host.slots + random() % 3;
    constexpr job::MapBy maps[] = {job::MapBy::slot, job::MapBy::node, job::MapBy::core, job::MapBy::numa,
                                   job::MapBy::socket};
    PlacementRules asked = rules(maps[random() % 5], random() % 2 == 0);
    if (random() % 3 == 0) asked.per_node = 1 + random() % 4;
    if (random() % 2 == 0) asked.order = random() % 2 == 0 ? RankBy::slot : RankBy::node;
    std::uint64_t room = 0;
    for (const auto& host : hosts) room += asked.may_oversubscribe ? host.max_slots : host.slots;
    const auto wanted = std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{0});
    Distribution made;
    try {
      made = place(ranks, hosts, asked);
    } catch (const Stop&) {
      ++refused;
      // Without a number for each node, only what does not fit is refused.
      ASSERT_TRUE(asked.per_node || wanted > room);
      continue;
    }
    ASSERT_LE(wanted, room);
    ASSERT_EQ(made.apps.size(), ranks.size());
    const RankTable table(made);
    for (std::uint32_t a = 0; a < ranks.size(); ++a)
      ASSERT_EQ(std::accumulate(made.apps[a].counts.begin(), made.apps[a].counts.end(), 0U), ranks[a]);
    const bool fits = wanted <= std::accumulate(slots.begin(), slots.end(), std::uint64_t{0});
    for (std::uint32_t n = 0; n < hosts.size(); ++n) {
      const auto here = table.ranks_on(n).size();
      ASSERT_LE(here, asked.may_oversubscribe ? hosts[n].max_slots : hosts[n].slots);
      // No rank shares a slot while another is free.
      ASSERT_TRUE(!fits || asked.per_node || here <= hosts[n].slots);
      for (const auto& app : made.apps) ASSERT_LE(app.counts[n], asked.per_node.value_or(here));
    }
  }
  EXPECT_GT(refused, 100U);
  EXPECT_LT(refused, 4900U);
}

TEST(Placement, ten_thousand_nodes_take_no_time) {
  const auto made = place({1'280'000}, hosts_with(Numbers(10'000, 128)), rules(job::MapBy::node));
  EXPECT_EQ(encode(made), "10000;node@0:10000x128");
}

TEST(Pools, each_program_is_on_its_own_nodes) {
  const Pool first{{{"a", 2}, {"b", 2}}, false, {0, 2}}, second{{{"c", 1}, {"b", 2}}, false, {1}};
  const auto placed = place_in_pools({1, 3, 2}, {first, second}, {});
  ASSERT_EQ(placed.hosts.size(), 3U);
  EXPECT_EQ(placed.hosts[1].name, "b");
  EXPECT_EQ(placed.hosts[1].slots, 4U);
  EXPECT_EQ(placed.hosts[1].max_slots, job::most_ranks_a_node);
  EXPECT_EQ(placed.distribution.nodes, 3U);
  EXPECT_EQ(placed.distribution.apps[0].counts, (std::vector<std::uint32_t>{1, 0, 0}));
  EXPECT_EQ(placed.distribution.apps[1].counts, (std::vector<std::uint32_t>{0, 2, 1}));
  EXPECT_EQ(placed.distribution.apps[1].first_node, 2U);
  EXPECT_EQ(placed.distribution.apps[2].counts, (std::vector<std::uint32_t>{1, 1, 0}));
}

TEST(Pools, one_pool_is_place) {
  const allocation::Hosts hosts = {{"a", 2, 3, true}, {"b", 2}};
  PlacementRules rules;
  rules.may_oversubscribe = true;
  const auto placed = place_in_pools({1, 5}, {{hosts, true, {0, 1}}}, {});
  EXPECT_EQ(placed.hosts, hosts);
  EXPECT_EQ(placed.distribution, place({1, 5}, hosts, rules));
}

TEST(Pools, a_program_has_no_slots_of_another_pool) {
  const Pool first{{{"a", 8}}, true, {0}}, second{{{"b", 1}}, false, {1}};
  expect_refusal(refusal_of([&] {
                   place_in_pools({9, 2}, {first, second}, {});
                 }),
                 "the job has 2 ranks, but node 'b' has 1 slots");
}

}  // namespace
}  // namespace weft::placement
