// SPDX-License-Identifier: BSD-3-Clause
#include "tools/jobs/rank_states.hpp"

#include <gtest/gtest.h>

namespace weft::jobs {
namespace {

using job::Rank;

TEST(RankStates, from_start_to_end) {
  RankStates states(3);
  EXPECT_TRUE(states.running().empty());
  states.set_started(Rank{0}, 17);
  states.set_started(Rank{1}, -1);  // could not be started
  states.set_started(Rank{2}, 19);
  EXPECT_EQ(states.running(), (std::vector<Rank>{Rank{0}, Rank{2}}));
  states.set_ended(Rank{0});
  EXPECT_EQ(states.running(), std::vector<Rank>{Rank{2}});
  EXPECT_EQ(states.pid(Rank{0}), 17);
}

TEST(RankStates, an_end_may_be_expected_before_the_start) {
  RankStates states(2);
  states.expect_end({Rank{1}, Rank{9}});
  states.set_started(Rank{1}, 17);
  EXPECT_TRUE(states.is_end_expected(Rank{1}));
  EXPECT_FALSE(states.is_end_expected(Rank{0}));
}

}  // namespace
}  // namespace weft::jobs
