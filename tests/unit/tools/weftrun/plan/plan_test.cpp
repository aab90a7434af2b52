// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/plan.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/tools/messages/refusal.hpp"
#include "tests/unit/tools/weftrun/plan/plan_context.hpp"

namespace weft::weftrun {
namespace {

using allocation::Environment;
using messages::expect_refusal;
using messages::refusal_of;

using Words = std::vector<std::string>;

Plan plan_for(Words words, Environment environment = {}) {
  words.push_back("program");
  return make_plan(parse_options(words), plan_context(std::move(environment)));
}

std::string refusal_of_plan(Words words, Environment environment = {}) {
  return refusal_of([&] { plan_for(words, environment); });
}

std::string shown(const Plan& plan) {
  std::string text;
  for (const auto& node : plan.nodes)
    text += fmt::format("{}{}:{}{}", text.empty() ? "" : " ", node.name, node.slots, node.here ? "!" : "");
  return text + " " + encode(plan.distribution);
}

TEST(ServicePlanTest, has_all_nodes_and_no_rank) {
  const auto plan_of = [](Words words) { return make_service_plan(parse_options(words), plan_context()); };
  const auto here = plan_of({"--dvm"});
  EXPECT_TRUE(here.alone);
  EXPECT_TRUE(here.may_oversubscribe);
  EXPECT_EQ(here.universe, 4U);
  const auto listed = plan_of({"--dvm=x", "-H", "a:2,head:3,b"});
  EXPECT_EQ(shown(listed), "a:2 head:3! b:1 3");
  EXPECT_EQ(listed.own, 1U);
  EXPECT_FALSE(listed.may_oversubscribe);
  EXPECT_EQ(listed.agent.weftd, "/opt/bin/weftd");
  EXPECT_EQ(plan_of({"--dvm", "--virtual-nodes", "3:2"}).universe, 6U);
}

const Environment slurm = {
    {"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "2(x3)"}};

TEST(Plan, without_a_host_list_it_is_this_machine) {
  const Plan plan = plan_for({});
  EXPECT_EQ(shown(plan), "head:4! 1;slot@0:1x4");
  EXPECT_TRUE(plan.alone);
  EXPECT_FALSE(plan.oversubscribed);
  EXPECT_EQ(plan.own, 0U);
  EXPECT_EQ(plan.servers(), 1U);
  EXPECT_TRUE(plan_for({"-n", "9"}).oversubscribed);  // always allowed there
}

TEST(Plan, a_slot_for_so_many_cores_of_this_machine) {
  EXPECT_EQ(shown(plan_for({"--cpus-per-rank", "2"})), "head:2! 1;slot@0:1x2");
  EXPECT_EQ(shown(plan_for({"--map-by", "slot:pe=3"})), "head:1! 1;slot@0:1x1");
  EXPECT_EQ(shown(plan_for({"--map-by", "slot:pe=2", "--bind-to", "hwthread"})), "head:4! 1;slot@0:1x4");
  EXPECT_EQ(shown(plan_for({"--cpus-per-rank", "9"})),
            "head:1! 1;slot@0:1x1");  // refused when cores are looked for
  EXPECT_EQ(shown(plan_for({"--cpus-per-rank", "2", "--host", "a:3"})), "a:3 1;slot@0:1x3");
}

TEST(Plan, a_program_may_have_nodes_of_its_own) {
  const Plan plan = plan_for({"-n", "1", "--host", "a:2", "first", ":", "-n", "2", "--host", "localhost:4"});
  EXPECT_EQ(shown(plan), "a:2 head:4! 2;slot@0:1x1,1x0;slot@1:1x0,1x2");
  EXPECT_EQ(plan.own, 1U);
  const Plan same = plan_for({"-n", "1", "--host", "a", "first", ":", "-n", "1", "--host", "a"});
  EXPECT_EQ(shown(same), "a:2 1;slot@0:1x1;slot@0:1x1");
  EXPECT_FALSE(same.oversubscribed);
  expect_refusal(refusal_of_plan({"-n", "1", "--host", "a", "first", ":", "-n", "2", "--host", "a"}),
                 "the job has 2 ranks, but node 'a' has 1 slots");
}

TEST(Plan, a_rank_file_says_where_each_rank_is) {
  const std::string file = testing::TempDir() + "/ranks_test_" + std::to_string(::getpid());
  std::ofstream(file) << "rank 1=localhost slot=0\nrank 0=b slot=1:*\n";
  const Plan plan = plan_for({"--rankfile", file});
  EXPECT_EQ(shown(plan), "b:1 head:1! 2;list:1x0,1x1");
  EXPECT_EQ(plan.core_lists, (Words{"1:*", "0"}));
  const Plan named = plan_for({"--rankfile", file, "--host", "a,head,b"});
  EXPECT_EQ(shown(named), "head:1! b:1 2;list:1x1,1x0");
  EXPECT_EQ(named.unused, Words{"a"});
  EXPECT_EQ(named.allocation.size(), 3U);
  expect_refusal(refusal_of_plan({"--rankfile", file}, slurm),
                 "line 2: host 'b' is none of the 3 nodes of the job");
  ::unlink(file.c_str());
}

TEST(Plan, the_daemon_is_below_the_prefix) {
  EXPECT_EQ(plan_for({"--host", "a", "--prefix", "/opt/weft"}).agent.weftd, "/opt/weft/bin/weftd");
}

TEST(Plan, this_machine_under_any_name_is_served_by_weftrun) {
  const Plan plan = plan_for({"-n", "4", "--host", "a:2,localhost:2"});
  EXPECT_EQ(shown(plan), "a:2 head:2! 2;slot@0:2x2");
  EXPECT_FALSE(plan.alone);
  EXPECT_EQ(plan.launcher_number(), 1U);
  EXPECT_EQ(plan.servers(), 2U + plan.room);
  EXPECT_TRUE(plan_for({"--host", "localhost"}).alone);
}

TEST(Plan, otherwise_weftrun_is_behind_the_nodes) {
  const Plan plan = plan_for({"-n", "4", "--host", "a:2,b:2"});
  EXPECT_EQ(plan.own, std::nullopt);
  EXPECT_EQ(plan.launcher_number(), 2U + plan.room);
  EXPECT_EQ(plan.servers(), 3U + plan.room);
  EXPECT_FALSE(plan_for({"--host", "a"}).alone);
}

TEST(Plan, nodes_without_ranks_are_left_out) {
  const Plan plan = plan_for({"-n", "3", "--host", "a:2,b:2,c:2,head:2"});
  EXPECT_EQ(shown(plan), "a:2 b:2 2;slot@0:1x2,1x1");
  EXPECT_EQ(plan.unused, (Words{"c", "head"}));
  EXPECT_EQ(plan.own, std::nullopt);
  const Plan later =
      make_plan(parse_options({"--host", "a,b,c", "-n", "1", "x", ":", "-n", "1", "y"}), plan_context());
  EXPECT_EQ(shown(later), "a:1 b:1 2;slot@0:1x1,1x0;slot@1:1x0,1x1");
  EXPECT_EQ(later.ranks, (std::vector<std::uint32_t>{1, 1}));
}

TEST(Plan, too_many_ranks_for_a_list_are_refused) {
  expect_refusal(refusal_of_plan({"-n", "5", "--host", "a:2,b:2"}),
                 "the job has 5 ranks, but the 2 nodes have 4 slots");
  EXPECT_TRUE(plan_for({"-n", "5", "--host", "a:2,b:2", "--oversubscribe"}).oversubscribed);
}

TEST(Plan, virtual_nodes_have_enough_slots) {
  const Plan plan = plan_for({"--virtual-nodes", "3", "-n", "5"});
  EXPECT_EQ(shown(plan), "head-v0:2 head-v1:2 head-v2:2 3;slot@0:2x2,1x1");
  EXPECT_TRUE(plan.one_machine);
  EXPECT_FALSE(plan.alone);
  EXPECT_EQ(plan.launcher_number(), 3U + plan.room);
  EXPECT_EQ(plan.agent.kind, launch::Agent::Kind::fork);
  EXPECT_EQ(plan.agent.weftd, "/opt/bin/weftd");
  EXPECT_EQ(shown(plan_for({"--virtual-nodes", "2"})), "head-v0:2 head-v1:2 2;slot@0:2x2");
  EXPECT_EQ(shown(plan_for({"--virtual-nodes", "5:1", "-n", "12"})),
            "head-v0:1 head-v1:1 head-v2:1 head-v3:1 head-v4:1 5;slot@0:2x3,3x2");
  EXPECT_FALSE(
      plan_for({"--virtual-nodes", "1", "-n", "1"}).alone);  // a daemon all the same: it is for trials
  expect_refusal(refusal_of_plan({"--virtual-nodes", "2", "--agent", "ssh"}), "--agent has no meaning");
}

TEST(Plan, ssh) {
  const launch::Agent agent = plan_for({"--host", "a"}).agent;
  EXPECT_EQ(agent.kind, launch::Agent::Kind::remote);
  EXPECT_EQ(agent.words.front(), "ssh");
  EXPECT_EQ(agent.arity, 32U);
  EXPECT_EQ(plan_for({"--host", "a", "--agent", "ssh"}).agent, agent);
  EXPECT_EQ(plan_for({"--host", "a"}, {{"WEFT_SSH", "my 'own ssh' -p 7"}}).agent.words,
            (Words{"my", "own ssh", "-p", "7"}));
  EXPECT_EQ(plan_for({"--host", "a", "--agent-arity", "3"}).agent.arity, 3U);
}

TEST(Plan, commands_of_the_users) {
  const launch::Agent like_ssh =
      plan_for({"--host", "a", "--agent", "scripts/hosts run"}, {{"WEFT_SSH", "other"}}).agent;
  EXPECT_EQ(like_ssh.words, (Words{"scripts/hosts", "run"}));
  EXPECT_EQ(like_ssh.arity, 32U);
  const launch::Agent filled_in = plan_for({"--host", "a", "--agent", "start {host} -- {command}"}).agent;
  EXPECT_EQ(filled_in.arity, 0U);
  expect_refusal(refusal_of_plan({"--host", "a", "--agent", "x 'y"}), "quote that does not end");
  expect_refusal(refusal_of_plan({"--host", "a", "--agent", "  "}), "--agent is empty");
}

TEST(Plan, slurm) {
  const Plan plan = plan_for({}, slurm);
  EXPECT_EQ(shown(plan), "n1:2 n2:2 n3:2 3;slot@0:3x2");
  EXPECT_EQ(plan.agent.kind, launch::Agent::Kind::slurm);
  EXPECT_EQ(plan_for({"--host", "n3:1"}, slurm).agent.kind,
            launch::Agent::Kind::slurm);  // the list decides, srun starts
  EXPECT_EQ(shown(plan_for({"--host", "n3:1"}, slurm)), "n3:1 1;slot@0:1x1");
  EXPECT_EQ(plan_for({"--host", "n3,x"}, slurm).agent.kind, launch::Agent::Kind::remote);
  EXPECT_EQ(plan_for({"--host", "n3"}, slurm).agent.words, Words{"srun"});
  EXPECT_EQ(plan_for({"--agent", "ssh"}, slurm).agent.words.front(), "ssh");
  auto with_ssh = slurm;
  with_ssh["WEFT_SSH"] = "rsh";  // says what ssh is, not that it is wanted
  EXPECT_EQ(plan_for({}, with_ssh).agent.kind, launch::Agent::Kind::slurm);
  expect_refusal(refusal_of_plan({"--host", "x", "--agent", "slurm"}, slurm), "not all of these nodes");
  expect_refusal(refusal_of_plan({"--host", "x", "--agent", "slurm"}), "run weftrun under salloc");
  expect_refusal(refusal_of_plan({"-n", "7"}, slurm), "the job has 7 ranks, but the 3 nodes have 6 slots");
}

TEST(Plan, nodes_that_are_named_go_before_an_allocation_that_is_refused) {
  auto contradictory = slurm, heterogeneous = slurm;
  contradictory["SLURM_TASKS_PER_NODE"] = "2";
  heterogeneous["SLURM_HET_SIZE"] = "2";
  for (const auto& environment : {contradictory, heterogeneous}) {
    expect_refusal(refusal_of_plan({}, environment), "--host");
    EXPECT_EQ(plan_for({"--host", "n2,n3"}, environment).agent.kind, launch::Agent::Kind::remote);
    EXPECT_EQ(plan_for({"--host", "n2", "--agent", "ssh"}, environment).agent.kind,
              launch::Agent::Kind::remote);
    expect_refusal(refusal_of_plan({"--host", "n2", "--agent", "slurm"}, environment), "unset SLURM_JOB_ID");
  }
}

TEST(Plan, weftrun_on_a_node_of_the_allocation) {
  auto here = slurm;
  here["SLURM_JOB_NODELIST"] = "head,n[2-3]";
  const Plan plan = plan_for({}, here);
  EXPECT_EQ(plan.own, 0U);
  EXPECT_EQ(plan.agent.kind, launch::Agent::Kind::slurm);
  const Plan small = plan_for({"-n", "2"}, here);
  EXPECT_FALSE(small.alone) << "a spawned job may go to the others";
  EXPECT_EQ(small.spares.size(), 2U);
  EXPECT_EQ(small.servers(), 3U + small.room);
  EXPECT_EQ(small.node(1).name, "n2");
  EXPECT_TRUE(plan_for({"--host", "head:2", "-n", "2"}, here).alone);
}

TEST(Plan, numbers_are_kept_for_nodes_that_may_be_added) {
  const Plan plan = plan_for({"--host", "a,b", "--grow", "3"});
  EXPECT_EQ(plan.most_nodes(), 5U);
  EXPECT_EQ(plan.launcher_number(), 5U) << "behind all that may come";
  EXPECT_EQ(plan.servers(), 6U);
  EXPECT_EQ(plan_for({"--host", "a,b"}).room, 16U);
  EXPECT_TRUE(plan_for({"-n", "1"}).alone) << "one node needs no other";
  EXPECT_EQ(plan_for({"-n", "1"}).servers(), 1U);
  EXPECT_FALSE(plan_for({"-n", "1", "--grow", "1"}).alone);
  expect_refusal(refusal_of_plan({"--add-host", "c"}), "--attach");
}

TEST(Plan, added_nodes) {
  Plan plan = plan_for({"--host", "a:2,b:2", "--grow", "2"});
  const auto none_lost = [](std::uint32_t) { return false; };
  const auto is_here = [](const std::string& name) { return name == "head"; };
  add_nodes(plan, {{"c", 8}, {"a", 9}}, none_lost, is_here);
  EXPECT_EQ(plan.all_nodes(), 3U) << "one of the two was there";
  EXPECT_EQ(plan.node(2).name, "c");
  EXPECT_EQ(plan.universe, 12U);
  EXPECT_EQ(plan.launcher_number(), 4U) << "it stays what it was";
  expect_refusal(refusal_of([&] { add_nodes(plan, {{"head", 1}}, none_lost, is_here); }), "own machine");
  add_nodes(
      plan, {{"c", 8}}, [](std::uint32_t node) { return node == 2; }, is_here);
  EXPECT_EQ(plan.node(3).name, "c") << "a lost node does not come back under its number";
  expect_refusal(refusal_of([&] { add_nodes(plan, {{"d", 1}}, none_lost, is_here); }), "--grow");
}

TEST(Plan, where_the_daemon_is) {
  EXPECT_EQ(plan_for({"--host", "a"}).agent.weftd, "/opt/bin/weftd");
  EXPECT_EQ(plan_for({"--host", "a"}, {{"WEFT_WEFTD", "/x/weftd"}}).agent.weftd, "/x/weftd");
  EXPECT_EQ(plan_for({"--host", "a", "--weftd", "/y/weftd"}, {{"WEFT_WEFTD", "/x/weftd"}}).agent.weftd,
            "/y/weftd");
  EXPECT_EQ(plan_for({"--host", "a", "--weftd", "weftd"}).agent.weftd, "weftd");
  EXPECT_EQ(plan_for({"--host", "a", "--weftd", "./weftd"}).agent.weftd.front(), '/');
}

TEST(Plan, real_surroundings) {
  const auto context = PlanContext::real();
  EXPECT_TRUE(context.is_here(context.host));
  EXPECT_TRUE(context.is_here("localhost"));
  EXPECT_FALSE(context.is_here("192.0.2.7"));
  EXPECT_GE(context.cores, 1U);
  EXPECT_EQ(context.program_directory.front(), '/');
}

}  // namespace
}  // namespace weft::weftrun
