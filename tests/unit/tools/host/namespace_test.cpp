// SPDX-License-Identifier: BSD-3-Clause
// Jobs that come and go at one server.
#include "tools/host/namespace.hpp"

#include <gtest/gtest.h>
#include <pmix.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "tools/host/server.hpp"
#include "tools/messages/stop.hpp"

namespace weft::host {
namespace {

using job::Rank;

JobMap two_ranks(const std::string& nspace) {
  JobMap map;
  map.nspace = nspace;
  map.host = "here";
  map.size = 2;
  map.apps.resize(1);
  map.apps[0].argv = {"program"};
  map.apps[0].ranks = 2;
  map.bindings.resize(2);
  map.node_names = {"here"};
  map.ranks_of_node = {{0, 1}};
  map.policy.bind = job::BindTo::none;
  return map;
}

struct NamespaceTest : ::testing::Test {
  Namespace make(const std::string& nspace) {
    return Namespace(*server, two_ranks(nspace), {Rank{0}, Rank{1}}, {});
  }
  static bool is_told(const Namespace& of, const std::string& variable) {
    const auto all = of.environment_of(Rank{1}, {});
    return std::find(all.begin(), all.end(), variable) != all.end();
  }
  std::optional<Server> server{std::in_place, ServerIdentity{"servers", 0, 1, 0, "here", {}, {}, false, {}}};
};

TEST_F(NamespaceTest, several_are_served_at_a_time) {
  const auto first = make("first"), second = make("second");
  EXPECT_TRUE(is_told(first, "PMIX_NAMESPACE=first"));
  EXPECT_TRUE(is_told(second, "PMIX_NAMESPACE=second"));
}

/// As a process on this node has it, without a question to another.
std::string key_of_node(Rank rank, const char* key) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, "job", number(rank));
  pmix_info_t infos[2];
  bool yes = true;
  PMIX_INFO_LOAD(&infos[0], PMIX_OPTIONAL, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_NODE_INFO, &yes, PMIX_BOOL);
  pmix_value_t* value = nullptr;
  const auto status = PMIx_Get(&proc, key, infos, 2, &value);
  if (status != PMIX_SUCCESS) return PMIx_Error_string(status);
  std::string text = value->type == PMIX_STRING ? value->data.string : "no text";
  PMIX_VALUE_RELEASE(value);
  return text;
}

TEST_F(NamespaceTest, keys_of_nodes_come_with_the_job_and_behind_it) {
  auto map = two_ranks("job");
  map.size = map.apps[0].ranks = 3;
  map.node_names.emplace_back("there");
  map.ranks_of_node.push_back({2});
  map.node_keys = {{"net.port", {"7000", "8000"}}, {"net", {"ib"}}};
  const Namespace job(*server, map, {Rank{0}, Rank{1}}, {});
  EXPECT_EQ(key_of_node(Rank{0}, "net.port"), "7000");
  EXPECT_EQ(key_of_node(Rank{2}, "net.port"), "8000");
  EXPECT_EQ(key_of_node(Rank{2}, "net"), "ib");
  EXPECT_EQ(key_of_node(Rank{2}, "net.address"), "PMIX_ERR_NOT_FOUND");
  add_node_keys(map, {{"net.address", {"", "10.0.0.2"}}});
  EXPECT_EQ(key_of_node(Rank{2}, "net.address"), "10.0.0.2");
  EXPECT_EQ(key_of_node(Rank{0}, "net.address"), "PMIX_ERR_NOT_FOUND");
  EXPECT_EQ(key_of_node(Rank{0}, "net.port"), "7000");
  add_node_keys(map, {});
  EXPECT_TRUE(is_told(job, "PMIX_NAMESPACE=job"));
}

TEST_F(NamespaceTest, a_name_is_that_of_one_at_a_time) {
  {
    const auto first = make("job");
    EXPECT_THROW(make("job"), messages::Stop);
    EXPECT_TRUE(is_told(first, "PMIX_NAMESPACE=job"));
  }
  EXPECT_TRUE(is_told(make("job"), "PMIX_NAMESPACE=job"));
}

TEST_F(NamespaceTest, that_cannot_be_registered_leaves_its_name) {
  EXPECT_THROW(Namespace(*server, two_ranks("job"), {Rank{0}}, {}), messages::Stop)
      << "its map has two ranks here";
  EXPECT_TRUE(is_told(make("job"), "PMIX_NAMESPACE=job"));
}

TEST_F(NamespaceTest, the_server_may_end_before) {
  auto other = std::make_optional<Namespace>(*server, two_ranks("job"), std::vector<Rank>{Rank{0}, Rank{1}},
                                             Namespace::Events{});
  server.reset();
  other.reset();
}

std::size_t descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}
std::size_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

TEST_F(NamespaceTest, two_hundred_in_a_row_leave_nothing) {
  const auto run_one = [&](int number) {
    const auto one = make("job." + std::to_string(number));
    EXPECT_TRUE(is_told(one, "PMIX_NAMESPACE=job." + std::to_string(number)));
  };
  for (int i = 0; i < 10; ++i) run_one(i);
  const auto open = descriptors(), mapped = mappings();
  for (int i = 10; i < 210; ++i) run_one(i);
  EXPECT_EQ(descriptors(), open);
  EXPECT_LT(mappings(), mapped + 100) << "one of each would be 200, and the allocator keeps some";
}

}  // namespace
}  // namespace weft::host
