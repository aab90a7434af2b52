// SPDX-License-Identifier: BSD-3-Clause
// Every line about a failure names what failed, and what can be done.
#include "tools/messages/messages.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::messages {
namespace {

TEST(Wording, a_failure_names_rank_host_pid_and_program) {
  const Where where{job::Rank{3}, "node7", 4711, "./ring", ""};
  for (const auto& line : {rank_killed(where, 11, false), rank_failed(where, 2, false),
                           rank_left_without_finalize(where), rank_aborted(where, 5, "N/A", {})}) {
    EXPECT_EQ(line.find("rank 3 on node7 (pid 4711, ./ring)"), 0U) << line;
    EXPECT_NE(line.find("What to do: "), std::string::npos) << line;
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
  }
  EXPECT_NE(rank_killed(where, 11, false).find("signal 11 (SIGSEGV)"), std::string::npos);
}

}  // namespace
}  // namespace weft::messages
