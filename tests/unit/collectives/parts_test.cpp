// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/parts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectives/schedules/schedules.hpp"

namespace weft::collectives {
namespace {

std::vector<PeerBlocks> divided(const PeerBlocks& message, std::uint64_t most) {
  const auto schedule = in_parts({Step{{message}, {}}}, {5, 20, 5, 0, 5, 5}, most);
  return schedule.front().sends;
}

TEST(Parts, of_a_message_are_as_few_as_fit_in_the_order_of_its_blocks) {
  const auto peer = Index(3);
  const PeerBlocks all_around{peer, {Index(4), 6}};  // of 5, 5, 5, 20, 5 and 0 bytes
  EXPECT_EQ(divided(all_around, 40), std::vector{all_around});
  EXPECT_EQ(divided(all_around, 15), (std::vector<PeerBlocks>{{peer, {Index(4), 3}},
                                                              {peer, {Index(1), 1}},  // longer than the limit
                                                              {peer, {Index(2), 2}}}));
  EXPECT_EQ(divided({peer, {Index(3), 1}}, 1), (std::vector<PeerBlocks>{{peer, {Index(3), 1}}}));
}

TEST(Parts, are_the_same_at_both_ends) {
  const std::vector<std::uint64_t> lengths{7, 0, 900, 30, 30, 30, 1, 55, 60};
  const auto n = static_cast<std::uint32_t>(lengths.size());
  std::vector<Schedule> all;
  for (std::uint32_t me = 0; me < n; ++me) all.push_back(in_parts(bruck(n, Index(me)), lengths, 64));
  std::size_t messages = 0;
  for (std::uint32_t me = 0; me < n; ++me)
    for (std::size_t step = 0; step < all[me].size(); ++step)
      for (const auto& [peer, blocks] : all[me][step].sends) {
        const auto& there = all[number(peer)][step].receives;
        EXPECT_EQ(std::count(there.begin(), there.end(), PeerBlocks{Index(me), blocks}), 1);
        ++messages;
      }
  EXPECT_GT(messages, std::size_t{n} * 4);  // of four rounds
}

}  // namespace
}  // namespace weft::collectives
