// SPDX-License-Identifier: BSD-3-Clause
// Which transport is first, on machines that are made up.
#include "transport/registry/order.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

namespace weft::transport {
namespace {

using Names = std::vector<std::string>;

Names on_a_machine_with(const std::vector<std::string>& devices) {
  std::string root = ::testing::TempDir() + "order.XXXXXX";
  EXPECT_NE(::mkdtemp(root.data()), nullptr);
  for (const auto& device : devices) std::filesystem::create_directories(root + "/class/" + device);
  auto names = preferred_here(root);
  std::filesystem::remove_all(root);
  return names;
}

TEST(Order, by_the_cards_that_are_there) {
  const Names plain{"tcp"}, ucx_first{"ucx:^tcp", "ofi", "tcp"}, ofi_first{"ofi", "ucx:^tcp", "tcp"};
  EXPECT_EQ(on_a_machine_with({}), plain);
  EXPECT_EQ(on_a_machine_with({"net/eth0"}), plain);
  EXPECT_EQ(on_a_machine_with({"infiniband/mlx5_0"}), ucx_first);
  EXPECT_EQ(on_a_machine_with({"cxi/cxi0"}), ofi_first);
  EXPECT_EQ(on_a_machine_with({"infiniband/efa_0"}), ofi_first);
  EXPECT_EQ(on_a_machine_with({"infiniband/mlx5_0", "infiniband/hfi1_0"}), ofi_first);
}

}  // namespace
}  // namespace weft::transport
