// SPDX-License-Identifier: BSD-3-Clause
// What a node's launcher or daemon registers of a job, as the library is given it.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "tools/host/job_info.hpp"

namespace weft::host {
namespace {

job::App app(std::uint32_t ranks) {
  job::App out;
  out.argv = {"program", "word"};
  out.ranks = ranks;
  return out;
}

/// Five ranks of two applications on three nodes, seen from one of them.
JobMap three_nodes(std::uint32_t node) {
  JobMap map;
  map.nspace = "job";
  map.node_names = {"a", "b", "c"};
  map.ranks_of_node = {{0, 3}, {1, 4}, {2}};
  map.node = node;
  map.host = map.node_names[node];
  map.size = 5;
  map.apps = {app(3), app(2)};
  map.session = 77;
  map.slots = {1, 1, 4};
  return map;
}

const pmix_info_t* find(const pmix_info_t* infos, std::size_t count, const char* key) {
  for (std::size_t i = 0; i < count; ++i)
    if (std::strcmp(infos[i].key, key) == 0) return &infos[i];
  return nullptr;
}

/// The arrays of that kind, in order.
std::vector<const pmix_data_array_t*> arrays(InfoList& infos, const char* key) {
  std::vector<const pmix_data_array_t*> out;
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (std::strcmp(infos.data()[i].key, key) == 0) out.push_back(infos.data()[i].value.data.darray);
  return out;
}

const pmix_info_t* in(const pmix_data_array_t* array, const char* key) {
  return find(static_cast<const pmix_info_t*>(array->array), array->size, key);
}

TEST(NodeJobInfo, lists_of_nodes_and_ranks) {
  const auto map = three_nodes(0);
  EXPECT_EQ(node_list(map), "a,b,c");
  EXPECT_EQ(rank_list(map), "0,3;1,4;2");
  auto empty_node = map;
  empty_node.ranks_of_node = {{}, {0, 1, 2, 3}, {4}};
  EXPECT_EQ(rank_list(empty_node), ";0,1,2,3;4");
  JobMap alone;
  alone.host = "here";
  alone.size = 3;
  EXPECT_EQ(node_list(alone), "here");
  EXPECT_EQ(rank_list(alone), "0,1,2");
  EXPECT_EQ(alone.nodes(), 1u);
  EXPECT_EQ(alone.local_ranks().size(), 3u);
}

TEST(NodeJobInfo, no_single_rank_where_nothing_is_bound) {
  for (std::uint32_t node = 0; node < 3; ++node) {
    auto infos = job_info(three_nodes(node), "node map", "proc map");
    EXPECT_TRUE(arrays(infos, PMIX_PROC_INFO_ARRAY).empty());
    EXPECT_TRUE(find(infos.data(), infos.size(), "weft.localities")->value.data.flag);
    EXPECT_EQ(arrays(infos, PMIX_APP_INFO_ARRAY).size(), 2u);
    EXPECT_EQ(find(infos.data(), infos.size(), PMIX_NODEID)->value.data.uint32, node);
    EXPECT_EQ(find(infos.data(), infos.size(), PMIX_NUM_NODES)->value.data.uint32, 3u);
    EXPECT_EQ(find(infos.data(), infos.size(), PMIX_JOB_SIZE)->value.data.uint32, 5u);
    EXPECT_EQ(find(infos.data(), infos.size(), PMIX_NUM_SLOTS)->value.data.uint32, 6u);
    EXPECT_EQ(find(infos.data(), infos.size(), PMIX_LOCAL_PEERS), nullptr);  // follows from the map
    const auto nodes = arrays(infos, PMIX_NODE_INFO_ARRAY);
    ASSERT_EQ(nodes.size(), 1u);
    EXPECT_EQ(in(nodes[0], PMIX_NODEID)->value.data.uint32, node);
    EXPECT_STREQ(find(infos.data(), infos.size(), "weft.node.slots")->value.data.string, "2*1,1*4");
    EXPECT_EQ(in(nodes[0], PMIX_NODE_OVERSUBSCRIBED)->value.data.flag, node != 2);
    EXPECT_EQ(in(nodes[0], PMIX_MAX_PROCS), nullptr);  // follows from the slots
    EXPECT_STREQ(in(nodes[0], PMIX_HOSTNAME)->value.data.string,
                 std::string(1, static_cast<char>('a' + node)).c_str());
    const auto session = arrays(infos, PMIX_SESSION_INFO_ARRAY);
    EXPECT_EQ(in(session.at(0), PMIX_SESSION_ID)->value.data.uint32, 77u);
    EXPECT_STREQ(in(session.at(0), PMIX_NODE_LIST)->value.data.string, "a,b,c");
  }
}

TEST(NodeJobInfo, of_its_own_ranks_what_they_are_bound_to) {
  auto map = three_nodes(1);
  map.policy.bind = job::BindTo::core;
  map.bindings = {{{0, 2, 3}, ""}, {{1}, ""}};
  auto infos = job_info(map, "node map", "proc map");
  const auto ranks = arrays(infos, PMIX_PROC_INFO_ARRAY);
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(in(ranks[0], PMIX_RANK)->value.data.rank, 1u);
  EXPECT_STREQ(in(ranks[0], PMIX_CPUSET)->value.data.string, "hwloc:0,2-3");
  EXPECT_EQ(in(ranks[1], PMIX_RANK)->value.data.rank, 4u);
  EXPECT_STREQ(in(ranks[1], PMIX_CPUSET)->value.data.string, "hwloc:1");
  EXPECT_EQ(in(ranks[1], PMIX_LOCALITY_STRING), nullptr) << "the library makes it when a rank comes";
}

TEST(NodeJobInfo, keys_of_nodes_are_there_for_each_node_that_has_some) {
  for (std::uint32_t node = 0; node < 3; ++node) {
    auto map = three_nodes(node);
    map.node_keys = {{"net.port", {"7000", "", "9000"}}};
    auto infos = job_info(map, "node map", "proc map");
    const auto nodes = arrays(infos, PMIX_NODE_INFO_ARRAY);
    ASSERT_EQ(nodes.size(), 3u) << "the first is of this node";
    EXPECT_EQ(in(nodes[0], "net.port"), nullptr);
    EXPECT_EQ(in(nodes[1], PMIX_NODEID)->value.data.uint32, 0u);
    EXPECT_STREQ(in(nodes[1], "net.port")->value.data.string, "7000");
    EXPECT_EQ(in(nodes[2], PMIX_NODEID)->value.data.uint32, 2u);
    EXPECT_STREQ(in(nodes[2], "net.port")->value.data.string, "9000");
  }
}

TEST(NodeJobInfo, a_key_of_all_nodes_is_there_for_each) {
  const auto map = three_nodes(1);
  auto infos = node_keys_info(map, {{"net", {"ib"}}, {"net.port", {"", "8000", ""}}});
  const auto nodes = arrays(infos, PMIX_NODE_INFO_ARRAY);
  ASSERT_EQ(nodes.size(), 3u);
  for (const auto* node : nodes) EXPECT_STREQ(in(node, "net")->value.data.string, "ib");
  EXPECT_EQ(in(nodes[0], "net.port"), nullptr);
  EXPECT_STREQ(in(nodes[1], "net.port")->value.data.string, "8000");
  EXPECT_EQ(node_keys_info(map, {}).size(), 0u);
  JobMap alone;
  alone.host = "here";
  alone.size = 3;
  EXPECT_EQ(node_keys_info(alone, {{"net", {"ib"}}}).size(), 1u);
}

TEST(NodeJobInfo, applications_say_which_ranks_are_in_them) {
  auto infos = job_info(three_nodes(2), "node map", "proc map");
  const auto apps = arrays(infos, PMIX_APP_INFO_ARRAY);
  ASSERT_EQ(apps.size(), 2u);
  EXPECT_EQ(in(apps[1], PMIX_APPNUM)->value.data.uint32, 1u);
  EXPECT_EQ(in(apps[1], PMIX_APPLDR)->value.data.rank, 3u);
  EXPECT_EQ(in(apps[1], PMIX_APP_SIZE)->value.data.uint32, 2u);
}

}  // namespace
}  // namespace weft::host
