// SPDX-License-Identifier: BSD-3-Clause
// Where a job goes that a process of a running one has asked for.
#include "tools/weftrun/plan/spawn_plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/tools/messages/refusal.hpp"
#include "tests/unit/tools/weftrun/plan/plan_context.hpp"

namespace weft::weftrun {
namespace {

using messages::expect_refusal;
using messages::refusal_of;

using Words = std::vector<std::string>;

struct SomeRun {
  explicit SomeRun(Words words) {
    words.push_back("program");
    options = parse_options(words);
    plan = make_plan(options, plan_context());
  }
  Options options;
  Plan plan;
};

job::SpawnRequest asked(std::uint32_t ranks, Words words = {}) {
  job::SpawnRequest request;
  request.words = std::move(words);
  request.programs.push_back({{}, {"child", ":", "x"}, ranks, {}});
  return request;
}

std::string placed(const SomeRun& run, const job::SpawnRequest& request, std::vector<NodeNow> now) {
  return encode(spawn_plan(spawn_options(request, {run.options, run.plan}, {}), run.plan, now).distribution);
}

TEST(SpawnPlan, free_slots_of_all_nodes) {
  const SomeRun run({"--host", "a:2,b:2,c:2", "-n", "3"});
  EXPECT_EQ(run.plan.spares.size(), 1U);
  EXPECT_EQ(placed(run, asked(3), {{2}, {1}, {0}}), "3;slot@1:1x0,1x1,1x2");
  EXPECT_EQ(placed(run, asked(1), {{0}, {1}, {0}}), "3;slot@0:1x1,2x0") << "they come back";
  EXPECT_EQ(placed(run, asked(1), {{0, true}, {2}, {0}}), "3;slot@2:2x0,1x1") << "a lost node has none";
  EXPECT_EQ(placed(run, asked(2, {"--host", "c"}), {{0}, {0}, {0}}), "3;slot@2:2x0,1x2");
  EXPECT_EQ(placed(run, asked(2, {"--map-by", "node"}), {{1}, {1}, {1}}), "3;node@0:2x1,1x0");
}

TEST(SpawnPlan, nodes_that_a_call_names_in_files_and_adds) {
  SomeRun run({"--host", "a:2,b:2", "-n", "1"});
  const auto file = std::filesystem::temp_directory_path() / fmt::format("hosts.{}", ::getpid());
  std::ofstream(file) << "b slots=2\nfd00::7 slots=4 data:rack=7\n";
  auto request = asked(2, {"--add-host", "c:3", "--add-hostfile", file});
  request.programs[0].words = {"--hostfile", file};
  const auto options = spawn_options(request, {run.options, run.plan}, {});
  std::filesystem::remove(file);
  EXPECT_EQ(options.added_hosts,
            (allocation::Hosts{
                {"c", 3}, {"b", 2}, {"fd00::7", 4, job::most_ranks_a_node, false, {{"rack", "7"}}}}));
  EXPECT_EQ(options.own_hosts, (std::vector<Words>{{"b", "fd00::7"}}));
  const auto is_here = [](const std::string&) { return false; };
  add_nodes(
      run.plan, options.added_hosts, [](auto) { return false; }, is_here);
  EXPECT_EQ(encode(spawn_plan(options, run.plan, std::vector<NodeNow>(4)).distribution),
            "4;slot@1:1x0,1x2,2x0");
}

TEST(SpawnPlan, no_room) {
  const SomeRun run({"--host", "a:2,b:2", "-n", "3"});
  const auto refusal = [&](const job::SpawnRequest& request, std::vector<NodeNow> now) {
    return refusal_of([&] { placed(run, request, std::move(now)); });
  };
  expect_refusal(refusal(asked(2), {{2}, {1}}), "2 ranks");
  expect_refusal(refusal(asked(1, {"--host", "d"}), {{0}, {0}}), "node 'd' is none of this run");
  expect_refusal(refusal(asked(1), {{0, true}, {0, true}}), "no node of this run is left");
  expect_refusal(refusal(asked(1, {"--map-by", "moon"}), {{0}, {0}}), "moon");
  auto over = asked(5);
  over.may_oversubscribe = true;
  EXPECT_EQ(placed(run, over, {{2}, {2}}), "2;slot@0:1x3,1x2");
}

TEST(SpawnPlan, without_a_list_more_ranks_than_slots_are_allowed_unless_the_call_says_otherwise) {
  const SomeRun run({"-n", "4"});
  EXPECT_EQ(placed(run, asked(9), {{4}}), "1;slot@0:1x9");
  auto request = asked(1);
  request.may_oversubscribe = false;
  expect_refusal(refusal_of([&] { placed(run, request, {{4}}); }), "0 slots");
}

TEST(SpawnPlan, options_of_the_run_and_of_the_call) {
  const SomeRun run({"--tag-output", "--timeout", "9", "-x", "A=1", "-n", "1"});
  auto request = asked(1, {"--timeout", "3"});
  request.programs[0].settings.push_back({"A", "2"});
  const auto options = spawn_options(request, {run.options, run.plan}, run.options.apps[0].settings);
  EXPECT_TRUE(options.tags.rank);
  EXPECT_EQ(options.limit, std::chrono::seconds(3));
  EXPECT_EQ(options.apps[0].argv, (Words{"child", ":", "x"}));
  ASSERT_EQ(options.apps[0].settings.size(), 2U);
  EXPECT_EQ(options.apps[0].settings[1].value, "2");
  EXPECT_EQ(options.mapping.bind, job::BindTo::none);
  EXPECT_EQ(options.input.kind, job::InputTarget::Kind::none);
}

}  // namespace
}  // namespace weft::weftrun
