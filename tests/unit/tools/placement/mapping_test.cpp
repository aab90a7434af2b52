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

#include "tools/messages/stop.hpp"
#include "tools/placement/processors.hpp"

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
  const std::string file = testing::TempDir() + "/weft-machine-" + std::to_string(::getpid()) + ".xml";
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

Policy automatic(std::uint32_t ranks, std::uint32_t slots, Processors processors) {
  return choose_policy({ranks, slots}, processors, job::BindTo::automatic, job::MapBy::automatic);
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
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, job::BindTo::socket, job::MapBy::automatic).map,
            job::MapBy::socket);
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, job::BindTo::numa, job::MapBy::automatic).map, job::MapBy::numa);
  EXPECT_EQ(choose_policy({4, 8}, {8, 8, 2}, job::BindTo::hwthread, job::MapBy::automatic).map,
            job::MapBy::slot);
}

TEST(PolicyChoice, the_user_decides) {
  EXPECT_EQ(choose_policy({99, 2}, {2, 2, 1}, job::BindTo::core, job::MapBy::automatic).bind,
            job::BindTo::core);
  EXPECT_EQ(choose_policy({1, 2}, {2, 2, 1}, job::BindTo::core, job::MapBy::automatic).parts, 0U);
  EXPECT_EQ(choose_policy({99, 2}, {2, 2, 1}, job::BindTo::numa, job::MapBy::slot).map, job::MapBy::slot);
  EXPECT_EQ(choose_policy({1, 2}, {2, 2, 1}, job::BindTo::none, job::MapBy::core).map, job::MapBy::core);
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
