// SPDX-License-Identifier: BSD-3-Clause
// Keys of nodes, from the command line and the hostfile to the launch order.
#include "tools/weftrun/plan/node_keys.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/tools/messages/refusal.hpp"
#include "tests/unit/tools/weftrun/plan/plan_context.hpp"
#include "tools/weftrun/plan/launch_message.hpp"
#include "tools/weftrun/plan/spawn_plan.hpp"

namespace weft::weftrun {
namespace {

using messages::expect_refusal;
using messages::refusal_of;

using Words = std::vector<std::string>;

class NodeKeysTest : public testing::Test {
 protected:
  ~NodeKeysTest() override { ::unlink(file_.c_str()); }
  /// Behind --hostfile with these lines.
  Options options_of(const std::string& lines, Words words, bool has_program = true) {
    std::ofstream(file_, std::ios::trunc) << lines;
    words.insert(words.begin(), {"--hostfile", file_});
    if (has_program) words.push_back("program");
    return parse_options(words);
  }
  Plan plan_of(const std::string& lines, Words words) {
    return make_plan(options_of(lines, std::move(words)), plan_context());
  }

  const std::string file_ = fmt::format("{}/node_keys_test_{}", testing::TempDir(), ::getpid());
};

/// "KEY=VALUE,VALUE KEY=VALUE": the values by node, one of all nodes alone.
std::string shown(const std::vector<job::NodeKey>& keys) {
  std::string text;
  for (const auto& key : keys)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key.key, fmt::join(key.values, ","));
  return text;
}

TEST_F(NodeKeysTest, of_all_nodes_and_of_some) {
  const char* const lines = "a slots=1 data:port=1\nb slots=1 data:port=2 data:net=tcp\nc slots=1\n";
  EXPECT_EQ(shown(node_keys_of(plan_of(lines, {}))), "port=1,2, net=,tcp,");
  EXPECT_EQ(shown(node_keys_of(plan_of(lines, {"--node-data", "net=ib", "--node-data", "x=1=2"}))),
            "net=ib,tcp,ib x=1=2 port=1,2,");
  EXPECT_EQ(shown(node_keys_of(plan_of("a data:p=1\nb data:p=1\n", {}))), "p=1") << "all nodes are alike";
  EXPECT_EQ(shown(node_keys_of(plan_of("a\nb\n", {}))), "");
}

TEST_F(NodeKeysTest, go_with_their_node_wherever_it_is_placed) {
  const char* const lines = "a slots=1 data:port=1\nlocalhost slots=1 data:port=2\nc data:port=3\n";
  const auto plan = plan_of(lines, {"-n", "2", "first", ":", "-n", "1", "--host", "c:1"});
  ASSERT_EQ(plan.nodes.size(), 3U);
  EXPECT_EQ(plan.nodes[1].name, "head");
  EXPECT_EQ(shown(node_keys_of(plan)), "port=1,2,3");
}

TEST_F(NodeKeysTest, are_in_the_order_of_the_job_and_of_those_that_it_spawns) {
  const auto options =
      options_of("a slots=1 data:port=1\nb slots=2 data:port=2\n", {"-n", "1", "--node-data", "net=ib"});
  const auto plan = make_plan(options, plan_context());
  ASSERT_EQ(plan.spares.size(), 1U);
  const placement::RankTable table(plan.distribution);
  EXPECT_EQ(shown(launch_message(options, plan, table, {}).node_keys), "net=ib port=1");
  job::SpawnRequest request;
  request.programs.push_back({{}, {"child"}, 2, {}});
  const auto of_child = spawn_options(request, {options, plan}, {});
  const auto spawned = spawn_plan(of_child, plan, std::vector<NodeNow>(2));
  const placement::RankTable spawned_table(spawned.distribution);
  EXPECT_EQ(shown(launch_message(of_child, spawned, spawned_table, {}).node_keys), "net=ib port=1,2");
}

TEST_F(NodeKeysTest, are_there_for_the_jobs_of_a_service) {
  const auto plan = make_service_plan(
      options_of("a data:port=1\nb data:port=2\n", {"--dvm", "--node-data", "net=ib"}, false),
      plan_context());
  EXPECT_EQ(shown(node_keys_of(plan)), "net=ib port=1,2");
  EXPECT_EQ(shown(node_keys_of(nodes_of_run(plan))), "net=ib port=1,2");
}

TEST_F(NodeKeysTest, come_with_a_node_that_is_added) {
  auto plan = plan_of("a\nb\n", {"--node-data", "net=ib"});
  const auto is_lost = [](auto) { return false; };
  const auto is_here = [](const std::string&) { return false; };
  add_nodes(plan, {{"c", 1, 1, false, {{"net", "tcp"}}}}, is_lost, is_here);
  EXPECT_EQ(shown(node_keys_of(nodes_of_run(plan))), "net=ib,ib,tcp");
}

TEST_F(NodeKeysTest, have_a_bound_for_all_nodes_together) {
  const auto words_of = [](int keys) {
    Words words;
    for (int i = 0; i < keys; ++i)
      words.insert(words.end(), {"--node-data",
                                 fmt::format("{:04}={}", i, std::string(job::NodeKey::longest_value, 'v'))});
    return words;
  };
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += fmt::format("n{} slots=1\n", i);
  EXPECT_EQ(plan_of(lines, words_of(2)).nodes.size(), 500U);
  expect_refusal(refusal_of([&] { plan_of(lines, words_of(3)); }),
                 "the keys of 500 nodes have 6150000 bytes, and can have 4194304 in all");
}

}  // namespace
}  // namespace weft::weftrun
