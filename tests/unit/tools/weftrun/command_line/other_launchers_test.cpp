// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/other_launchers.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::weftrun {
namespace {

void expect_says(std::string_view said, const char* expected) {
  EXPECT_NE(said.find(expected), std::string_view::npos) << said << "\n  lacks: " << expected;
}

TEST(OtherLaunchers, options_with_their_dashes) {
  expect_says(instead_of_option("--tune"), "mpirun has one; write --mca NAME VALUE");
  expect_says(instead_of_option("-tune"), "--mca NAME VALUE");
  expect_says(instead_of_option("-genv"), "mpiexec has one; write -x NAME=VALUE");
  expect_says(instead_of_option("-f"), "--hostfile FILE");
  expect_says(instead_of_option("--ntasks-per-node=4"), "srun has one; write -N N");
  expect_says(instead_of_option("--nodes"), "-N N is N ranks on each node here");
  expect_says(instead_of_option("--Cpu-Bind"), "--bind-to");
  for (const char* word : {"--no-such-word", "-", "--", "", "-ff", "-C", "-W"})
    EXPECT_EQ(instead_of_option(word), "") << word;
}

TEST(OtherLaunchers, one_letter_stands_as_it_is_written) {
  expect_says(instead_of_option("-D"), "--wdir");
  EXPECT_EQ(instead_of_option("-d"), "");
}

TEST(OtherLaunchers, places) {
  expect_says(instead_of_placement("ppr:2:socket"), "ppr:N:node");
  expect_says(instead_of_placement("pe-list=0,1"), "--cpu-list");
  expect_says(instead_of_placement("rankfile:file=f"), "--rankfile");
  expect_says(instead_of_placement("hwthread"), "--bind-to hwthread");
  expect_says(instead_of_placement("L1cache"), "core");
  EXPECT_EQ(instead_of_placement("x"), "");
}

TEST(OtherLaunchers, parameters_of_mpirun_itself) {
  expect_says(instead_of_parameter("plm_rsh_agent"), "--agent");
  expect_says(instead_of_parameter("hwloc_base_binding_policy"), "--bind-to");
  expect_says(instead_of_parameter("rmaps_base_mapping_policy"), "--map-by");
  for (const char* name : {"pml", "btl_tcp_if_include", "orte_base_help_aggregate", ""})
    EXPECT_EQ(instead_of_parameter(name), "") << name;
}

}  // namespace
}  // namespace weft::weftrun
