// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/stuck.hpp"

#include <gtest/gtest.h>

namespace weft::server {
namespace {

using std::chrono::seconds;

TEST(RankRanges, all_shapes) {
  EXPECT_EQ(rank_ranges({}), "");
  EXPECT_EQ(rank_ranges({7}), "7");
  EXPECT_EQ(rank_ranges({0, 1}), "0-1");
  EXPECT_EQ(rank_ranges({0, 1, 2, 3, 4, 7, 9, 10, 11}), "0-4,7,9-11");
  EXPECT_EQ(rank_ranges({1, 3, 5}), "1,3,5");
}

TEST(StuckReport, names_who_is_missing) {
  const auto text =
      stuck_report("fence", "job", 12, seconds(61), "node7", 2, 5, {{1, 100}, {3, 0}, {4, 102}});
  for (const char* part : {"node7", "fence 12 of job", "61 s", "2 of 5", "missing: 1,3-4 (", "rank 1 pid 100",
                           "rank 3 never called PMIx_Init", "rank 4 pid 102"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
}

TEST(StuckReport, a_full_machine_fits_a_line) {
  std::vector<Missing> missing;
  for (std::uint32_t rank = 0; rank < 100'000; ++rank) missing.push_back({rank, static_cast<int>(rank) + 1});
  const auto text = stuck_report("fence", "job", 1, seconds(60), "node", 0, 100'000, missing);
  EXPECT_NE(text.find("missing: 0-99999 ("), std::string::npos);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_LT(text.size(), 600u);
}

TEST(StuckClock, is_due_once_a_generation) {
  StuckClock clock;
  seconds age{};
  EXPECT_FALSE(clock.due(1, true, seconds(0), age)) << "it starts to count now";
  EXPECT_TRUE(clock.due(1, true, seconds(0), age));
  EXPECT_FALSE(clock.due(1, true, seconds(0), age)) << "said already";
  EXPECT_FALSE(clock.due(2, true, seconds(0), age)) << "another generation";
  EXPECT_TRUE(clock.due(2, true, seconds(0), age));
  EXPECT_FALSE(clock.due(2, false, seconds(0), age)) << "nobody waits";
  EXPECT_FALSE(clock.due(2, true, seconds(0), age)) << "they wait again, from now on";
  EXPECT_FALSE(clock.due(2, true, seconds(3600), age)) << "not for so long";
}

}  // namespace
}  // namespace weft::server
