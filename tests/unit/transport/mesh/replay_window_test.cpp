// SPDX-License-Identifier: BSD-3-Clause
#include "transport/mesh/replay_window.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace weft::mesh {
namespace {

TEST(ReplayWindow, each_number_once) {
  ReplayWindow window;
  for (std::uint64_t s = 1; s < 5000; ++s) {
    EXPECT_TRUE(window.accept(s));
    EXPECT_FALSE(window.accept(s));
  }
  EXPECT_FALSE(window.accept(0));
}

TEST(ReplayWindow, edges) {
  ReplayWindow window;
  EXPECT_TRUE(window.accept(ReplayWindow::width + 5));
  EXPECT_FALSE(window.accept(5));
  EXPECT_TRUE(window.accept(6));  // the oldest that can still be told
  EXPECT_FALSE(window.accept(6));
  EXPECT_TRUE(window.accept(1'000'000));
  EXPECT_FALSE(window.accept(6));
  EXPECT_FALSE(
      window.accept(~std::uint64_t{0}));  // no sender has sent as many: the window is not to jump to the end
  EXPECT_TRUE(window.accept(1'000'001));
}

/// Against a set that remembers everything.
TEST(ReplayWindow, any_order) {
  std::mt19937_64 random(3);
  ReplayWindow window;
  std::set<std::uint64_t> seen;
  std::uint64_t newest = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto step = random() % 100 == 0 ? random() % 3000 : random() % 40;
    const std::uint64_t low = newest > 2000 ? newest - 2000 : 0;
    const std::uint64_t sequence = random() % 2 == 0 ? newest + step : low + random() % (newest - low + 1);
    const bool in_reach = sequence != 0 && sequence + ReplayWindow::width > newest;
    EXPECT_EQ(window.accept(sequence), in_reach && seen.insert(sequence).second)
        << sequence << " after " << newest;
    if (sequence > newest) newest = sequence;
  }
}

}  // namespace
}  // namespace weft::mesh
