// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/stuck.hpp"

#include <gtest/gtest.h>

#include "core/store/segment/layout.hpp"

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

AbsentRank absent(std::uint32_t rank, int pid) {
  return {"job", rank, pid, 0};
}

StuckFence fence_of_job(std::size_t members, std::size_t arrived, std::vector<AbsentRank> missing) {
  StuckFence fence;
  fence.name = {{{"job", PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}}, 12};
  fence.age = seconds(61);
  fence.members = members;
  fence.arrived = arrived;
  fence.unit = "local ranks";
  fence.missing.push_back({"", std::move(missing), true});
  return fence;
}

TEST(StuckReport, names_the_missing_ranks) {
  const auto text = stuck_report(fence_of_job(5, 2, {absent(1, 100), absent(3, 0), absent(4, 102)}));
  for (const char* part : {"fence 12 of job", "61 s", "2 of 5 local ranks are in it", "missing: 1,3-4 (",
                           "rank 1 pid 100", "rank 3 never called PMIx_Init", "rank 4 pid 102"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "one line";
}

TEST(StuckReport, advises_what_helps) {
  const auto advice = [](std::vector<AbsentRank> missing) {
    const auto text = stuck_report(fence_of_job(5, 2, std::move(missing)));
    return std::pair(text.find("gdb -p PID") != std::string::npos,
                     text.find("may run a program that does not use this library") != std::string::npos);
  };
  const AbsentRank gone{"job", 2, 100, store::Local::gone}, left{"job", 3, 0, store::Local::gone};
  EXPECT_EQ(advice({absent(1, 100)}), std::pair(true, false));
  EXPECT_EQ(advice({absent(1, 0)}), std::pair(false, true));
  EXPECT_EQ(advice({absent(1, 100), absent(4, 0)}), std::pair(true, true));
  EXPECT_EQ(advice({gone, left}), std::pair(false, false)) << "there is nothing to look at";
  const auto text = stuck_report(fence_of_job(5, 2, {gone, {"job", 4, 7, store::Local::finalized}}));
  EXPECT_NE(text.find("rank 2 has ended, rank 4 pid 7 has called PMIx_Finalize"), std::string::npos) << text;
}

TEST(StuckReport, a_set_is_no_whole_job) {
  auto fence = fence_of_job(3, 2, {absent(4, 7)});
  fence.name.procs = {{"job", 0, 1}, {"job", 4, 4}};
  EXPECT_NE(stuck_report(fence).find("fence 12 of a set of 3 processes of job"), std::string::npos);
}

TEST(StuckReport, names_nodes_and_those_that_are_silent) {
  auto fence = fence_of_job(3, 1, {absent(4, 7)});
  fence.unit = "nodes";
  fence.missing[0].host = "host1";
  fence.missing.push_back({"host2", {}, false});
  const auto text = stuck_report(fence);
  EXPECT_NE(text.find("1 of 3 nodes are in it with all their ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("4 (rank 4 pid 7) on host1; which ranks is not known on host2"), std::string::npos)
      << text;
}

TEST(StuckReport, says_what_is_missing_besides_ranks) {
  auto fence = fence_of_job(2, 1, {absent(1, 100)});
  fence.also = "leaders that are not known yet";
  EXPECT_NE(stuck_report(fence).find("missing: 1 (rank 1 pid 100); leaders that are not known yet. "),
            std::string::npos);
  fence.missing.clear();
  EXPECT_NE(stuck_report(fence).find("missing: leaders that are not known yet. "), std::string::npos);
}

TEST(StuckReport, a_full_machine_fits_a_line) {
  std::vector<AbsentRank> missing;
  for (std::uint32_t rank = 0; rank < 100'000; ++rank)
    missing.push_back(absent(rank, static_cast<int>(rank) + 1));
  const auto text = stuck_report(fence_of_job(100'000, 0, std::move(missing)));
  EXPECT_NE(text.find("missing: 0-99999 ("), std::string::npos);
  EXPECT_NE(text.find("..."), std::string::npos);
  EXPECT_LT(text.size(), 600u);
}

TEST(StuckClock, is_due_once_a_generation) {
  StuckClock clock;
  const StuckClock::Clock::time_point now{};
  seconds age{};
  EXPECT_FALSE(clock.due(1, true, seconds(0), now, age)) << "it starts to count now";
  EXPECT_TRUE(clock.due(1, true, seconds(0), now, age));
  EXPECT_FALSE(clock.due(1, true, seconds(0), now, age)) << "said already";
  EXPECT_FALSE(clock.due(2, true, seconds(0), now, age)) << "another generation";
  EXPECT_TRUE(clock.due(2, true, seconds(0), now, age));
  EXPECT_FALSE(clock.due(2, false, seconds(0), now, age)) << "no rank waits";
  EXPECT_FALSE(clock.due(2, true, seconds(0), now, age)) << "a rank waits again, from now on";
  EXPECT_FALSE(clock.due(2, true, seconds(3600), now, age)) << "not for so long";
}

}  // namespace
}  // namespace weft::server
