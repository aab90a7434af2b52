// SPDX-License-Identifier: BSD-3-Clause
// Slices of one lane lie in each other or behind each other.
#include "tools/weftrun/launcher/records/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weft::weftrun {
namespace {

using Lanes = std::vector<std::size_t>;

TEST(LanesTest, what_nests_has_one) {
  EXPECT_EQ(lanes_of({}), Lanes{});
  EXPECT_EQ(lanes_of({{0, 10}, {1, 4}, {2, 3}, {4, 10}, {10, 12}}), (Lanes{0, 0, 0, 0, 0}));
  EXPECT_EQ(lanes_of({{0, 5}, {0, 5}, {5, 5}, {5, 5}}), (Lanes{0, 0, 0, 0}));
}

TEST(LanesTest, what_overlaps_has_several_and_the_first_that_is_free) {
  EXPECT_EQ(lanes_of({{0, 10}, {5, 15}, {12, 20}, {13, 14}}), (Lanes{0, 1, 0, 0}));
  EXPECT_EQ(lanes_of({{0, 10}, {1, 11}, {2, 12}, {11, 13}}), (Lanes{0, 1, 2, 0}));
}

TEST(LanesTest, no_two_of_a_lane_overlap_otherwise) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<Slice> slices(40);
    for (auto& slice : slices) {
      slice.begin = random() % 50;
      slice.end = slice.begin + random() % 20;
    }
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    const auto lanes = lanes_of(slices);
    for (std::size_t i = 0; i < slices.size(); ++i)
      for (std::size_t j = i + 1; j < slices.size(); ++j) {
        if (lanes[i] != lanes[j]) continue;
        EXPECT_TRUE(slices[i].end <= slices[j].begin || slices[j].end <= slices[i].end);
      }
  }
}

}  // namespace
}  // namespace weft::weftrun
