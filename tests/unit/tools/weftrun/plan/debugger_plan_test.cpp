// SPDX-License-Identifier: BSD-3-Clause
// Which jobs a request for daemons of debuggers comes to, and where the daemons go.
#include "tools/weftrun/plan/debugger_plan.hpp"

#include <gtest/gtest.h>
#include <pmix_common.h>

#include "tests/unit/tools/messages/refusal.hpp"
#include "tests/unit/tools/weftrun/plan/plan_context.hpp"

namespace weft::weftrun {
namespace {

using Program = job::SpawnRequest::Program;

Program program(const char* name, bool are_daemons = false) {
  Program out{{}, {name}, 1, {}};
  out.daemons.are_meant = are_daemons;
  return out;
}

job::SpawnRequest daemons(std::uint32_t rank, std::uint32_t per_node, std::uint32_t per_process) {
  job::SpawnRequest out;
  out.programs.push_back(program("d", true));
  out.programs[0].daemons.target = {"j", job::Rank{rank}};
  out.programs[0].daemons.per_node = per_node;
  out.programs[0].daemons.per_process = per_process;
  return out;
}

/// Beside six ranks: three on a, two on b, one on c.
class DebuggerPlan : public ::testing::Test {
 protected:
  DebuggerPlan() : options(parse_options({"--host", "a:3,b:2,c:1", "-n", "6", "program"})) {
    plan = make_plan(options, plan_context());
  }
  std::string placed(const job::SpawnRequest& request) const {
    return encode(debugger_plan(request, plan, now, placement::RankTable(plan.distribution)).distribution);
  }
  Options options;
  Plan plan;
  std::vector<NodeNow> now = std::vector<NodeNow>(3);
};

TEST_F(DebuggerPlan, beside_the_only_program_which_is_apart) {
  job::SpawnRequest request;
  request.programs = {program("d", true), program("a")};
  request.programs[1].is_apart = true;
  const auto jobs = jobs_of(request);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].programs.front().argv.front(), "a") << "the daemons are for it";
  EXPECT_FALSE(goes_to_target(jobs[0]));
}

TEST_F(DebuggerPlan, a_request_without_a_target_is_none) {
  EXPECT_FALSE(is_valid(job::SpawnRequest()));
  auto request = daemons(0, 1, 0);
  EXPECT_TRUE(is_valid(request));
  request.programs[0].daemons.target.reset();
  EXPECT_FALSE(is_valid(request));
  request.programs.push_back(program("a"));
  EXPECT_TRUE(is_valid(request)) << "they are for that one";
  request.programs[0].argv.clear();
  EXPECT_FALSE(is_valid(request));
}

TEST_F(DebuggerPlan, so_many_a_node_or_a_process) {
  EXPECT_EQ(placed(daemons(PMIX_RANK_WILDCARD, 1, 0)), "3;slot@0:3x1");
  EXPECT_EQ(placed(daemons(PMIX_RANK_WILDCARD, 2, 0)), "3;slot@0:3x2");
  EXPECT_EQ(placed(daemons(PMIX_RANK_WILDCARD, 0, 2)), "3;slot@0:1x6,1x4,1x2");
  EXPECT_EQ(placed(daemons(PMIX_RANK_WILDCARD, 0, 0)), "3;slot@0:1x3,1x2,1x1");
}

TEST_F(DebuggerPlan, beside_one_process) {
  EXPECT_EQ(placed(daemons(3, 1, 0)), "3;slot@0:1x0,1x1,1x0");
}

TEST_F(DebuggerPlan, not_on_a_lost_node) {
  now[1].is_lost = true;
  EXPECT_EQ(placed(daemons(PMIX_RANK_WILDCARD, 1, 0)), "3;slot@0:1x1,1x0,1x1");
  EXPECT_THROW(placed(daemons(3, 1, 0)), messages::Stop);
}

TEST_F(DebuggerPlan, beside_no_process_there_is_none) {
  EXPECT_THROW(placed(daemons(6, 1, 0)), messages::Stop);
  EXPECT_THROW(placed(daemons(PMIX_RANK_WILDCARD, 0, 65'535)), messages::Stop);
}

TEST(DebuggerJobs, one_of_the_programs_one_of_the_daemons_and_one_for_each_apart) {
  job::SpawnRequest request;
  request.programs = {program("a"), program("d", true), program("x"), program("b"), program("e", true)};
  request.programs[2].is_apart = true;
  const auto jobs = jobs_of(request);
  std::vector<std::string> names;
  for (const auto& job : jobs) {
    std::string name;
    for (const auto& each : job.programs) name += each.argv[0];
    names.push_back(name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"ab", "de", "x"}));
}

TEST(DebuggerJobs, what_is_alone_is_one_job) {
  EXPECT_EQ(jobs_of(daemons(0, 1, 0)).size(), 1U);
  job::SpawnRequest request;
  request.programs = {program("x")};
  request.programs[0].is_apart = true;
  EXPECT_EQ(jobs_of(request).size(), 1U);
}

TEST(DebuggerJobs, daemons_with_a_place_of_their_own_go_there) {
  auto request = daemons(PMIX_RANK_WILDCARD, 0, 0);
  EXPECT_TRUE(goes_to_target(request));
  request.programs[0].words = {"--map-by", "node"};
  EXPECT_FALSE(goes_to_target(request));
  request.programs[0].daemons.per_node = 1;
  EXPECT_TRUE(goes_to_target(request));
}

}  // namespace
}  // namespace weft::weftrun
