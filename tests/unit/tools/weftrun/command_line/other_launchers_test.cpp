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
  expect_says(instead_of_option("--mca"), "-x OMPI_MCA_NAME=VALUE");
  expect_says(instead_of_option("-mca"), "-x OMPI_MCA_NAME=VALUE");
  expect_says(instead_of_option("-genv"), "-x NAME=VALUE");
  expect_says(instead_of_option("-f"), "--hostfile FILE");
  expect_says(instead_of_option("--ntasks-per-node=4"), "-N N");
  expect_says(instead_of_option("--rankfile"), "--host");
  for (const char* word : {"--no-such-word", "-", "--", "", "-ff"})
    EXPECT_EQ(instead_of_option(word), "") << word;
}

TEST(OtherLaunchers, places) {
  expect_says(instead_of_placement("socket:PE=2"), "equal parts");
  expect_says(instead_of_placement("ppr:2:socket"), "ppr:N:node");
  expect_says(instead_of_placement("ppr:2:socket:pe=4"), "equal parts");
  expect_says(instead_of_placement("hwthread"), "--bind-to hwthread");
  expect_says(instead_of_placement("L3cache"), "numa");
  EXPECT_EQ(instead_of_placement("x"), "");
}

}  // namespace
}  // namespace weft::weftrun
