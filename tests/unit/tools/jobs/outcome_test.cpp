// SPDX-License-Identifier: BSD-3-Clause
#include "tools/jobs/outcome.hpp"

#include <gtest/gtest.h>

namespace weft::jobs {
namespace {

TEST(Outcome, a_job_that_just_ends_has_status_0) {
  const Outcome outcome;
  EXPECT_EQ(outcome.exit_code(), 0);
  EXPECT_FALSE(outcome.has_reason());
  EXPECT_EQ(outcome.summary(), "");
}

TEST(Outcome, the_first_reason_decides) {
  Outcome outcome;
  EXPECT_TRUE(outcome.set_reason(130));
  EXPECT_FALSE(outcome.set_reason(1));
  outcome.set_status(7);
  EXPECT_EQ(outcome.exit_code(), 130);
  EXPECT_TRUE(outcome.has_reason());
}

TEST(Outcome, the_first_failure_decides_and_all_are_counted) {
  Outcome outcome;
  outcome.record_failure(139, "rank 3");
  outcome.record_failure(1, "node b");
  EXPECT_EQ(outcome.exit_code(), 139);
  EXPECT_FALSE(outcome.has_reason());
  EXPECT_NE(outcome.summary().find("exit status 139 is that of the first of 2 failures, rank 3"),
            std::string::npos)
      << outcome.summary();
}

TEST(Outcome, a_reason_is_more_than_failures) {
  Outcome outcome;
  outcome.record_failure(139, "rank 3");
  EXPECT_TRUE(outcome.set_reason(124));
  EXPECT_EQ(outcome.exit_code(), 124);
  EXPECT_EQ(outcome.summary(), "");
}

TEST(Outcome, an_abort_of_some_ranks_is_no_failure) {
  Outcome outcome;
  outcome.set_status(5);
  EXPECT_EQ(outcome.exit_code(), 5);
  EXPECT_EQ(outcome.summary(), "");
}

}  // namespace
}  // namespace weft::jobs
