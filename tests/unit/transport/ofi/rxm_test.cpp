// SPDX-License-Identifier: BSD-3-Clause
// The numbers that ofi_rxm is given over verbs. tests/rdma has their effect on a card.
#include "transport/ofi/providers/rxm.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

namespace weft::ofi {
namespace {

TEST(RxmTest, queues_fit_the_card_and_the_cluster) {
  for (const std::uint32_t entries : {32'767u, 65'535u, 4'194'303u})
    for (const std::uint32_t nodes : {0u, 1u, 2u, 16u, 300u, 1'000u}) {
      const auto sizes = rxm_sizes(nodes, entries);
      EXPECT_GE(sizes.peers, nodes);
      EXPECT_LE(std::uint64_t{2} * sizes.queue * sizes.peers, entries) << nodes << " nodes";
      EXPECT_GE(sizes.queue, 8u);
    }
  EXPECT_EQ(rxm_sizes(2, 4'194'303).queue, RxmSizes().queue);
}

TEST(RxmTest, the_shortest_where_nothing_fits) {
  const auto sizes = rxm_sizes(100'000, 32'767);
  EXPECT_EQ(sizes.queue, 8u);
  EXPECT_GE(sizes.peers, 100'000u);
  EXPECT_EQ(rxm_sizes(UINT32_MAX / 2, 0).queue, 8u);
}

TEST(RxmTest, variables_of_the_user_stay_and_the_others_go) {
  ::setenv("FI_UNIVERSE_SIZE", "77", 1);
  ::unsetenv("FI_OFI_RXM_MSG_TX_SIZE");
  ::unsetenv("FI_OFI_RXM_BUFFER_SIZE");
  {
    const RxmEnvironment set(RxmSizes{.peers = 16, .queue = 32, .buffer = 4096});
    EXPECT_STREQ(::getenv("FI_UNIVERSE_SIZE"), "77");
    EXPECT_STREQ(::getenv("FI_OFI_RXM_MSG_TX_SIZE"), "32");
    EXPECT_STREQ(::getenv("FI_OFI_RXM_BUFFER_SIZE"), "4096");
  }
  EXPECT_STREQ(::getenv("FI_UNIVERSE_SIZE"), "77");
  EXPECT_EQ(::getenv("FI_OFI_RXM_MSG_TX_SIZE"), nullptr);
  EXPECT_EQ(::getenv("FI_OFI_RXM_BUFFER_SIZE"), nullptr);
  ::unsetenv("FI_UNIVERSE_SIZE");
}

/// With a cache others could go on reading a region that was closed, on whatever card.
TEST(RxmTest, there_is_no_cache_of_registrations_without_sizes_either) {
  ::unsetenv("FI_MR_CACHE_MAX_COUNT");
  ::unsetenv("FI_UNIVERSE_SIZE");
  {
    const RxmEnvironment set(std::nullopt);
    EXPECT_STREQ(::getenv("FI_MR_CACHE_MAX_COUNT"), "0");
    EXPECT_EQ(::getenv("FI_UNIVERSE_SIZE"), nullptr);
  }
  EXPECT_EQ(::getenv("FI_MR_CACHE_MAX_COUNT"), nullptr);
}

}  // namespace
}  // namespace weft::ofi
