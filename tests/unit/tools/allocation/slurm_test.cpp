// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/slurm.hpp"

#include <gtest/gtest.h>
#include <random>

#include "tests/unit/tools/allocation/variables.hpp"
#include "tests/unit/tools/messages/refusal.hpp"

namespace weft::allocation {
namespace {

using messages::expect_refusal;
using messages::refusal_of;

using Counts = std::vector<std::uint32_t>;

TEST(SlurmCounts, as_slurm_writes_them) {
  EXPECT_EQ(read_slurm_counts("2"), (Counts{2}));
  EXPECT_EQ(read_slurm_counts("2(x3),1"), (Counts{2, 2, 2, 1}));
  EXPECT_EQ(read_slurm_counts("1,16(x2),0"), (Counts{1, 16, 16, 0}));
}

TEST(SlurmCounts, what_is_none) {
  for (const char* text : {"", ",", "2,", ",2", "2(x0)", "2(x)", "2(3)", "2(x3", "2x3", "x", "-1", "2 ",
                           "2(x3)1", "2(x-1)", "4294967296", "2(x1048577)", "1(x1048576),1"})
    EXPECT_EQ(read_slurm_counts(text), std::nullopt) << text;
  EXPECT_EQ(read_slurm_counts("1(x1048576)")->size(), 1U << 20);
}

TEST(SlurmCounts, any_bytes_are_taken_or_refused) {
  std::mt19937 random(31);
  constexpr std::string_view alphabet = "12(x),0";
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (unsigned k = random() % 10; k > 0; --k) text += alphabet[random() % alphabet.size()];
    const auto counts = read_slurm_counts(text);
    ASSERT_TRUE(!counts || !counts->empty()) << text;
  }
}

std::string allocation(const Environment& environment) {
  const auto hosts = slurm_allocation(variables(environment));
  if (!hosts) return "none";
  std::string text;
  for (const auto& host : *hosts) text += host.name + ":" + std::to_string(host.slots) + " ";
  return text;
}

TEST(SlurmAllocation, nodes_and_tasks) {
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "7"},
                        {"SLURM_JOB_NODELIST", "n[01-03,7],m2"},
                        {"SLURM_TASKS_PER_NODE", "2(x3),1,4"},
                        {"SLURM_JOB_CPUS_PER_NODE", "64(x5)"}}),
            "n01:2 n02:2 n03:2 n7:1 m2:4 ");
  EXPECT_EQ(allocation(
                {{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_JOB_CPUS_PER_NODE", "8(x2)"}}),
            "a:8 b:8 ");
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "a"}}), "a:1 ");
  EXPECT_EQ(
      allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "a,b"}, {"SLURM_TASKS_PER_NODE", "0,3"}}),
      "b:3 ");
}

TEST(SlurmAllocation, outside_there_is_none) {
  EXPECT_EQ(allocation({}), "none");
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "7"}}), "none");
  EXPECT_EQ(allocation({{"SLURM_JOB_NODELIST", "a"}}), "none");
}

TEST(SlurmAllocation, contradictions_are_named) {
  const auto said = [](Environment environment) {
    environment["SLURM_JOB_ID"] = "7";
    return refusal_of([&] { allocation(environment); });
  };
  expect_refusal(said({{"SLURM_JOB_NODELIST", "n[1"}}), "SLURM_JOB_NODELIST='n[1'");
  expect_refusal(said({{"SLURM_JOB_NODELIST", "n[1-3]"}, {"SLURM_TASKS_PER_NODE", "2(x2)"}}),
                 "SLURM_TASKS_PER_NODE='2(x2)' speaks of 2 nodes, SLURM_JOB_NODELIST of 3");
  expect_refusal(said({{"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "many"}}),
                 "is no list of numbers");
  expect_refusal(said({{"SLURM_JOB_NODELIST", "a"}, {"SLURM_TASKS_PER_NODE", "0"}}), "no node has a task");
  expect_refusal(said({{"SLURM_JOB_NODELIST", "-x"}}), "is not the name of a host");
}

// The environment of heterogeneous_jobs.html in Slurm's documentation.
TEST(SlurmAllocation, a_heterogeneous_one_is_refused_with_what_to_do) {
  const Environment under_salloc = {{"SLURM_JOB_ID", "11741"},
                                    {"SLURM_HET_SIZE", "2"},
                                    {"SLURM_JOB_ID_HET_GROUP_0", "11741"},
                                    {"SLURM_JOB_ID_HET_GROUP_1", "11742"},
                                    {"SLURM_JOB_NODELIST_HET_GROUP_0", "nid00001"},
                                    {"SLURM_JOB_NODELIST_HET_GROUP_1", "nid[00011-00012]"}};
  auto with_a_list = under_salloc;
  with_a_list["SLURM_JOB_NODELIST"] = "nid00001";
  for (const auto& environment : {under_salloc, with_a_list}) {
    const auto said = refusal_of([&] { allocation(environment); });
    expect_refusal(said, "heterogeneous (SLURM_HET_SIZE=2)");
    expect_refusal(said, "(SLURM_JOB_NODELIST_HET_GROUP_0 and so on) and slots with --host");
  }
  auto outside = under_salloc;
  outside.erase("SLURM_JOB_ID");
  EXPECT_EQ(allocation(outside), "none");
  EXPECT_EQ(allocation({{"SLURM_JOB_ID", "7"}, {"SLURM_HET_SIZE", "1"}, {"SLURM_JOB_NODELIST", "a"}}),
            "a:1 ");
}

}  // namespace
}  // namespace weft::allocation
