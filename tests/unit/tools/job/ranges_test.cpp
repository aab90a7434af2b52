// SPDX-License-Identifier: BSD-3-Clause
#include "tools/job/ranges.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "tools/job/rank.hpp"

namespace weft::job {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Ranges, all_shapes) {
  EXPECT_EQ(ranges(Numbers{}), "");
  EXPECT_EQ(ranges(Numbers{7}), "7");
  EXPECT_EQ(ranges(Numbers{0, 1}), "0-1");
  EXPECT_EQ(ranges(Numbers{1, 3, 5}), "1,3,5");
  EXPECT_EQ(ranges(Numbers{0, 1, 2, 3, 4, 7, 9, 10, 11}), "0-4,7,9-11");
}

TEST(Ranges, the_largest_number_has_no_next) {
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  EXPECT_EQ(ranges(Numbers{0, most}), "0,4294967295");
  EXPECT_EQ(ranges(Numbers{most - 1, most}), "4294967294-4294967295");
}

TEST(Ranges, of_any_container_and_of_ranks) {
  EXPECT_EQ(ranges(std::set<unsigned>{4, 2, 3}), "2-4");
  EXPECT_EQ(ranges(std::vector<Rank>{Rank{0}, Rank{1}, Rank{8}}), "0-1,8");
}

}  // namespace
}  // namespace weft::job
