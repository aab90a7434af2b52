// SPDX-License-Identifier: BSD-3-Clause
// Policy and placement on made-up machines.
#include "tools/placement/mapping.hpp"

#include <gtest/gtest.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/tools/messages/refusal.hpp"
#include "tools/messages/stop.hpp"
#include "tools/placement/processors.hpp"
#include "tools/placement/topology.hpp"

namespace weft::placement {
namespace {

using messages::Stop;

Topology synthetic(const char* description) {
  hwloc_topology_t raw = nullptr;
  EXPECT_EQ(hwloc_topology_init(&raw), 0);
  EXPECT_EQ(hwloc_topology_set_synthetic(raw, description), 0);
  EXPECT_EQ(hwloc_topology_load(raw), 0);
  return Topology(raw);
}

std::vector<std::vector<unsigned>> processors_of(const std::vector<Binding>& bindings) {
  std::vector<std::vector<unsigned>> all;
  for (const auto& binding : bindings) all.push_back(binding.processors);
  return all;
}

using Sets = std::vector<std::vector<unsigned>>;

constexpr const char* two_nodes_four_cores_two_threads = "pack:2 [numa] core:4 pu:2";

TEST(Placement, cores_in_order) {
  const auto machine = synthetic(two_nodes_four_cores_two_threads);
  const auto bindings = bind_ranks(machine.get(), 3, {job::BindTo::core, job::MapBy::core, false});
  EXPECT_EQ(processors_of(bindings), (Sets{{0, 1}, {2, 3}, {4, 5}}));
  EXPECT_EQ(bindings[2].label, "core 2");
}

TEST(Placement, map_by_numa_deals_to_the_nodes_in_turn) {
  const auto machine = synthetic(two_nodes_four_cores_two_threads);
  const auto bindings = bind_ranks(machine.get(), 4, {job::BindTo::core, job::MapBy::numa, false});
  EXPECT_EQ(processors_of(bindings), (Sets{{0, 1}, {8, 9}, {2, 3}, {10, 11}}));
}

TEST(Placement, bind_to_numa_gives_the_whole_node) {
  const auto machine = synthetic("pack:2 [numa] core:2 pu:1");
  const auto by_slot = bind_ranks(machine.get(), 4, {job::BindTo::numa, job::MapBy::slot, false});
  EXPECT_EQ(processors_of(by_slot), (Sets{{0, 1}, {0, 1}, {2, 3}, {2, 3}}));
  const auto by_node = bind_ranks(machine.get(), 4, {job::BindTo::numa, job::MapBy::numa, false});
  EXPECT_EQ(processors_of(by_node), (Sets{{0, 1}, {2, 3}, {0, 1}, {2, 3}}));
  EXPECT_EQ(by_node[1].label, "NUMA node 1");
}

TEST(Placement, bind_to_socket) {
  const auto machine = synthetic("pack:2 numa:2 core:2 pu:1");
  const auto bindings = bind_ranks(machine.get(), 3, {job::BindTo::socket, job::MapBy::socket, false});
  EXPECT_EQ(processors_of(bindings), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}}));
  EXPECT_EQ(bindings[1].label, "socket 1");
  const auto cores = bind_ranks(machine.get(), 4, {job::BindTo::core, job::MapBy::socket, false});
  EXPECT_EQ(processors_of(cores), (Sets{{0}, {4}, {1}, {5}}));
}

TEST(Placement, bind_to_hardware_threads) {
  const auto machine = synthetic("pack:1 core:2 pu:2");
  const auto by_slot = bind_ranks(machine.get(), 5, {job::BindTo::hwthread, job::MapBy::slot, false});
  EXPECT_EQ(processors_of(by_slot), (Sets{{0}, {1}, {2}, {3}, {0}}));
  EXPECT_EQ(by_slot[3].label, "hwthread 3");
  const auto by_core = bind_ranks(machine.get(), 4, {job::BindTo::hwthread, job::MapBy::core, false});
  EXPECT_EQ(processors_of(by_core), (Sets{{0}, {2}, {1}, {3}}));
}

TEST(Placement, within_a_node_map_by_node_is_as_by_slot) {
  const auto machine = synthetic(two_nodes_four_cores_two_threads);
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 9, {job::BindTo::core, job::MapBy::node, false})),
            processors_of(bind_ranks(machine.get(), 9, {job::BindTo::core, job::MapBy::slot, false})));
}

TEST(Placement, virtual_nodes_share_the_machine) {
  const auto machine = synthetic("pack:2 [numa] core:2 pu:1");
  for (const auto map : {job::MapBy::slot, job::MapBy::numa}) {
    const Policy policy{job::BindTo::core, map, false};
    auto parts = processors_of(bind_ranks(machine.get(), 3, policy));
    for (const auto& set : processors_of(bind_ranks(machine.get(), 4, policy, 3))) parts.push_back(set);
    EXPECT_EQ(parts, processors_of(bind_ranks(machine.get(), 7, policy)));
  }
}

TEST(Placement, a_machine_that_tells_no_cores_has_its_threads) {
  const auto machine = synthetic("pu:3");
  for (const auto bind : {job::BindTo::core, job::BindTo::hwthread}) {
    EXPECT_EQ(processors_of(bind_ranks(machine.get(), 4, {bind, job::MapBy::slot, false})),
              (Sets{{0}, {1}, {2}, {0}}));
  }
  EXPECT_EQ(processors_in(machine.get()).cores, 3U);
}

TEST(DescribedTopology, synthetic_text_or_file) {
  const auto machine = described_topology(two_nodes_four_cores_two_threads);
  const Processors counted = processors_in(machine.get());
  EXPECT_EQ(counted.threads, 16U);
  EXPECT_EQ(counted.cores, 8U);
  EXPECT_EQ(counted.numa_nodes, 2U);
  const std::string file = testing::TempDir() + "/machine_test_" + std::to_string(::getpid()) + ".xml";
  ASSERT_EQ(hwloc_topology_export_xml(machine.get(), file.c_str(), 0), 0);
  EXPECT_EQ(processors_in(described_topology(file).get()).cores, 8U);
  ::unlink(file.c_str());
  EXPECT_THROW(described_topology(file), Stop);
  EXPECT_THROW(described_topology("nonsense"), Stop);
  EXPECT_THROW(described_topology(""), Stop);
}

TEST(Placement, more_ranks_than_cores_begin_again) {
  const auto machine = synthetic("pack:1 [numa] core:2 pu:1");
  const auto bindings = bind_ranks(machine.get(), 5, {job::BindTo::core, job::MapBy::slot, true});
  EXPECT_EQ(processors_of(bindings), (Sets{{0}, {1}, {0}, {1}, {0}}));
}

TEST(Placement, no_core_twice_while_another_is_free) {
  auto machine = synthetic("pack:2 [numa] core:4 pu:1");
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  hwloc_bitmap_set_range(allowed, 0, 4);  // four cores of the first node, one of the second
  ASSERT_EQ(hwloc_topology_restrict(machine.get(), allowed, 0), 0);
  hwloc_bitmap_free(allowed);
  const auto bindings = bind_ranks(machine.get(), 5, {job::BindTo::core, job::MapBy::numa, false});
  EXPECT_EQ(processors_of(bindings), (Sets{{0}, {4}, {1}, {2}, {3}}));
}

TEST(Placement, not_bound_has_no_processors) {
  const auto machine = synthetic(two_nodes_four_cores_two_threads);
  const auto bindings = bind_ranks(machine.get(), 2, {job::BindTo::none, job::MapBy::slot, false});
  EXPECT_EQ(processors_of(bindings), (Sets{{}, {}}));
}

TEST(Placement, equal_parts_of_the_cores) {
  const auto machine = synthetic("pack:2 [numa] core:4 pu:2");
  const auto parts = [&](std::uint32_t ranks, job::MapBy map = job::MapBy::slot) {
    Policy policy{job::BindTo::core, map, false};
    policy.parts = ranks;
    return bind_ranks(machine.get(), ranks, policy);
  };
  EXPECT_EQ(processors_of(parts(2)), (Sets{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(parts(2)[1].label, "cores 4-7");
  EXPECT_EQ(processors_of(parts(3)), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7, 8, 9}, {10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(processors_of(parts(8)),
            processors_of(bind_ranks(machine.get(), 8, {job::BindTo::core, job::MapBy::slot, false})));
  EXPECT_EQ(parts(8)[7].label, "core 7");
  EXPECT_EQ(processors_of(parts(4, job::MapBy::numa)),
            (Sets{{0, 1, 2, 3}, {8, 9, 10, 11}, {4, 5, 6, 7}, {12, 13, 14, 15}}));
  EXPECT_EQ(processors_of(parts(3, job::MapBy::socket)),
            (Sets{{0, 1, 2, 3}, {8, 9, 10, 11, 12, 13, 14, 15}, {4, 5, 6, 7}}));
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) {  // each core once, none left
    std::vector<unsigned> all;
    for (const auto& set : processors_of(parts(ranks))) all.insert(all.end(), set.begin(), set.end());
    std::sort(all.begin(), all.end());
    std::vector<unsigned> every(16);
    std::iota(every.begin(), every.end(), 0U);
    EXPECT_EQ(all, every) << ranks;
  }
}

TEST(Placement, virtual_nodes_have_parts_of_the_whole_machine) {
  const auto machine = synthetic("core:8 pu:1");
  Policy policy{job::BindTo::core, job::MapBy::slot, false};
  policy.parts = 4;
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 1, policy, 0)), (Sets{{0, 1}}));
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 3, policy, 1)), (Sets{{2, 3}, {4, 5}, {6, 7}}));
}

TEST(Placement, parts_of_uneven_groups) {
  auto machine = synthetic("pack:2 [numa] core:4 pu:1");
  hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
  hwloc_bitmap_set_range(allowed, 0, 4);  // four cores of the first node, one of the second
  ASSERT_EQ(hwloc_topology_restrict(machine.get(), allowed, 0), 0);
  hwloc_bitmap_free(allowed);
  Policy policy{job::BindTo::core, job::MapBy::numa, false};
  policy.parts = 4;
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 4, policy)), (Sets{{0, 1}, {4}, {2, 3}, {4}}));
}

Policy with_cores_each(std::uint32_t cores, job::MapBy map = job::MapBy::slot,
                       job::BindTo bind = job::BindTo::core) {
  Policy policy;
  policy.bind = bind;
  policy.map = map;
  policy.cores_each = cores;
  return policy;
}

std::string refusal(hwloc_topology_t machine, std::uint32_t ranks, const Policy& policy) {
  return messages::refusal_of([&] { bind_ranks(machine, ranks, policy, 0, "a"); });
}

TEST(CoresEach, one_after_the_other) {
  const auto machine = synthetic("core:8 pu:2");
  const auto bindings = bind_ranks(machine.get(), 2, with_cores_each(3));
  EXPECT_EQ(processors_of(bindings), (Sets{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}));
  EXPECT_EQ(bindings[1].label, "cores 3-5");
  const auto threads =
      bind_ranks(machine.get(), 2, with_cores_each(3, job::MapBy::slot, job::BindTo::hwthread));
  EXPECT_EQ(processors_of(threads), (Sets{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(threads[0].label, "hwthreads 0-2");
}

TEST(CoresEach, a_rank_is_on_one_numa_node_where_all_have_room_so) {
  const auto machine = synthetic("pack:2 [numa] core:6 pu:1");
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 2, with_cores_each(4))),
            (Sets{{0, 1, 2, 3}, {6, 7, 8, 9}}));
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 3, with_cores_each(4))),
            (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}}));
}

TEST(CoresEach, dealt_in_turn) {
  const auto machine = synthetic("pack:2 [numa] core:4 pu:1");
  for (const auto map : {job::MapBy::numa, job::MapBy::socket})
    EXPECT_EQ(processors_of(bind_ranks(machine.get(), 3, with_cores_each(2, map))),
              (Sets{{0, 1}, {4, 5}, {2, 3}}));
}

TEST(CoresEach, too_few_cores_are_told_with_numbers_and_host) {
  const auto machine = synthetic("pack:2 [numa] core:6 pu:1");
  messages::expect_refusal(refusal(machine.get(), 4, with_cores_each(4)),
                           "4 ranks of 4 cores each are to run on 'a', which has 12: room for 3");
  messages::expect_refusal(refusal(machine.get(), 1, with_cores_each(13)),
                           "1 rank of 13 cores is to run on 'a', which has 12: room for 0");
  messages::expect_refusal(refusal(machine.get(), 3, with_cores_each(4, job::MapBy::numa)),
                           "12, dealt by numa: room for 2");
  auto sharing = with_cores_each(4);
  sharing.may_share_cores = true;
  const auto bindings = processors_of(bind_ranks(machine.get(), 4, sharing));
  EXPECT_EQ(bindings[3], bindings[0]);
  sharing.cores_each = 13;
  messages::expect_refusal(refusal(machine.get(), 1, sharing), "room for 0");
}

TEST(Caches, are_bound_and_dealt_to) {
  const auto machine = synthetic("pack:1 [numa] l3:2 l2:2 core:2 pu:1");
  const auto l3 = bind_ranks(machine.get(), 3, {job::BindTo::l3cache, job::MapBy::l3cache});
  EXPECT_EQ(processors_of(l3), (Sets{{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 1, 2, 3}}));
  EXPECT_EQ(l3[1].label, "L3 cache 1");
  const auto l2 = bind_ranks(machine.get(), 2, {job::BindTo::l2cache, job::MapBy::l2cache});
  EXPECT_EQ(processors_of(l2), (Sets{{0, 1}, {2, 3}}));
  EXPECT_EQ(l2[1].label, "L2 cache 1");
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 2, {job::BindTo::core, job::MapBy::l3cache})),
            (Sets{{0}, {4}}));
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, {job::BindTo::l3cache}).map, job::MapBy::l3cache);
}

TEST(Caches, that_a_machine_does_not_tell_of_are_no_cores) {
  const auto machine = synthetic("pack:2 [numa] core:2 pu:1");
  messages::expect_refusal(refusal(machine.get(), 1, {job::BindTo::l3cache, job::MapBy::l3cache}),
                           "'a' tells of no L3 caches; use numa, socket or core in the place of l3cache");
  messages::expect_refusal(refusal(machine.get(), 1, {job::BindTo::core, job::MapBy::l2cache}),
                           "no L2 caches");
}

TEST(ListedCores, of_the_node_and_of_its_sockets) {
  const auto machine = synthetic("pack:2 [numa] core:3 pu:2");
  const auto processors = [&](const char* list) {
    return bind_as_listed(machine.get(), list, job::Rank{3}, "a").processors;
  };
  EXPECT_EQ(processors("4"), (std::vector<unsigned>{8, 9}));
  EXPECT_EQ(processors("0-1,0"), (std::vector<unsigned>{0, 1, 2, 3}));
  EXPECT_EQ(processors("1:0,2"), (std::vector<unsigned>{6, 7, 10, 11}));
  EXPECT_EQ(processors("0:*"), (std::vector<unsigned>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(processors("*").size(), 12U);
  EXPECT_EQ(bind_as_listed(machine.get(), "0,2-3", job::Rank{0}, "a").label, "cores 0,2-3");
  const auto said = [&](const char* list) { return messages::refusal_of([&] { processors(list); }); };
  messages::expect_refusal(said("4-6"),
                           "rank 3 is to have core 6 of 'a', which has 6 that weftrun may use: 0-5");
  messages::expect_refusal(said("1:3"), "rank 3 is to have core 3 of socket 1 of 'a', which has 3");
  messages::expect_refusal(said("2:0"), "rank 3 is to have cores of socket 2 of 'a', which has 2");
}

TEST(ProcessorChoice, leaves_only_these) {
  auto machine = synthetic("pack:2 [numa] core:4 pu:1");
  messages::expect_refusal(
      messages::refusal_of([&] {
        keep_only(machine.get(), {6, 7, 8, 11}, "a");
      }),
      "--cpu-list: processors 8,11 of a are not there, or weftrun may not use them; it may use 0-7");
  keep_only(machine.get(), {1, 2, 6}, "a");
  EXPECT_EQ(processors_in(machine.get()).cores, 3U);
  EXPECT_EQ(processors_of(bind_ranks(machine.get(), 3, {job::BindTo::core, job::MapBy::slot})),
            (Sets{{1}, {2}, {6}}));
  messages::expect_refusal(messages::refusal_of([] { check_allowed({65535}, "a"); }),
                           "--cpu-list: processor 65535 of a is not there");
  EXPECT_EQ(count_processors({65535}).threads, 1U);  // nothing to count
}

Policy automatic(std::uint32_t ranks, std::uint32_t slots, Processors processors) {
  return choose_policy({ranks, slots}, processors, {});
}

TEST(PolicyChoice, ranks_that_fill_the_slots_have_equal_parts) {
  const Policy policy = automatic(4, 4, {16, 8, 2});
  EXPECT_EQ(policy.bind, job::BindTo::core);
  EXPECT_EQ(policy.map, job::MapBy::slot);
  EXPECT_EQ(policy.parts, 4U);
  EXPECT_EQ(words_for(policy, {4, 4}, 8), "4 ranks of 8 cores fill the slots: equal parts");
  EXPECT_EQ(automatic(8, 8, {16, 8, 2}).parts, 8U);
  EXPECT_EQ(automatic(3, 2, {8, 8, 1}).parts, 3U);
}

TEST(PolicyChoice, others_are_free) {
  // Threads of these ranks, and another run beside them, have the whole machine.
  for (const auto& [ranks, slots] :
       {std::pair(1U, 8U), std::pair(2U, 8U), std::pair(7U, 8U), std::pair(1U, 1U)}) {
    const Policy policy = automatic(ranks, slots, {16, 8, 2});
    EXPECT_EQ(policy.bind, job::BindTo::none) << ranks;
    EXPECT_EQ(policy.parts, 0U) << ranks;
  }
  EXPECT_EQ(words_for(automatic(1, 8, {16, 8, 2}), {1, 8}, 8),
            "1 rank for 8 slots: bound only where all are used");
  EXPECT_EQ(words_for(automatic(1, 1, {16, 8, 2}), {1, 1}, 8), "a single rank has all cores");
}

TEST(PolicyChoice, oversubscribed_ranks_are_free) {
  const Policy policy = automatic(9, 8, {16, 8, 2});
  EXPECT_TRUE(policy.oversubscribed);  // by cores: a second thread is no second core
  EXPECT_EQ(policy.bind, job::BindTo::none);
  EXPECT_EQ(words_for(policy, {9, 8}, 8), "9 ranks for 8 cores");
  EXPECT_EQ(automatic(2, 2, {1, 1, 1}).bind, job::BindTo::none);
  EXPECT_FALSE(automatic(8, 8, {16, 8, 2}).oversubscribed);
}

TEST(PolicyChoice, ranks_are_dealt_to_what_they_are_bound_to) {
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, {job::BindTo::socket, job::MapBy::automatic}).map,
            job::MapBy::socket);
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, {job::BindTo::numa, job::MapBy::automatic}).map,
            job::MapBy::numa);
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, {job::BindTo::hwthread, job::MapBy::automatic}).map,
            job::MapBy::slot);
}

TEST(PolicyChoice, cores_for_each_rank_bind_it) {
  const auto policy = choose_policy({2, 8}, {8, 8, 2}, {job::BindTo::automatic, job::MapBy::automatic, 3});
  EXPECT_EQ(policy.bind, job::BindTo::core);
  EXPECT_EQ(policy.cores_each, 3U);
  EXPECT_EQ(words_for(policy, {2, 8}, 8), "3 cores for each rank, as asked for");
  EXPECT_EQ(choose_policy({2, 8}, {8, 8, 2}, {job::BindTo::none, job::MapBy::automatic, 3}).cores_each, 0U);
}

TEST(PolicyChoice, the_user_decides) {
  EXPECT_EQ(choose_policy({99, 2}, {2, 2, 1}, {job::BindTo::core, job::MapBy::automatic}).bind,
            job::BindTo::core);
  EXPECT_EQ(choose_policy({1, 2}, {2, 2, 1}, {job::BindTo::core, job::MapBy::automatic}).parts, 0U);
  EXPECT_EQ(choose_policy({99, 2}, {2, 2, 1}, {job::BindTo::numa, job::MapBy::slot}).map, job::MapBy::slot);
  EXPECT_EQ(choose_policy({1, 2}, {2, 2, 1}, {job::BindTo::none, job::MapBy::core}).map, job::MapBy::core);
}

TEST(ProcessorCount, agrees_with_hwloc) {
  const auto machine = load_topology();
  const Processors counted = count_processors();
  EXPECT_EQ(counted.threads,
            static_cast<std::uint32_t>(hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_PU)));
  EXPECT_EQ(counted.cores,
            static_cast<std::uint32_t>(hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_CORE)));
  EXPECT_GE(counted.numa_nodes,
            static_cast<std::uint32_t>(hwloc_get_nbobjs_by_type(machine.get(), HWLOC_OBJ_NUMANODE)));
}

}  // namespace
}  // namespace weft::placement
