// SPDX-License-Identifier: BSD-3-Clause
// Which transport is first, on machines that are made up.
#include "transport/registry/order.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace weft::transport {
namespace {

using Names = std::vector<std::string>;

Names on_a_machine_with(const std::vector<std::string>& devices) {
  std::string root = ::testing::TempDir() + "order.XXXXXX";
  EXPECT_NE(::mkdtemp(root.data()), nullptr);
  for (const auto& device : devices) std::filesystem::create_directories(root + "/class/" + device);
  auto names = preferred_here(root).transports;
  std::filesystem::remove_all(root);
  return names;
}

TEST(Order, by_the_cards_that_are_there) {
  const Names plain{"tcp"}, over_verbs{"ofi:verbs;ofi_rxm", "tcp"};
  EXPECT_EQ(on_a_machine_with({}), plain);
  EXPECT_EQ(on_a_machine_with({"net/eth0"}), plain);
  EXPECT_EQ(on_a_machine_with({"infiniband/mlx5_0"}), over_verbs);
  EXPECT_EQ(on_a_machine_with({"cxi/cxi0"}), (Names{"ofi:cxi", "tcp"}));
  EXPECT_EQ(on_a_machine_with({"infiniband/efa_0"}), (Names{"ofi:efa", "tcp"}));
  EXPECT_EQ(on_a_machine_with({"infiniband/mlx5_0", "infiniband/hfi1_0"}),
            (Names{"ofi:opx", "ofi:psm2", "tcp"}));
}

class Ports : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(root_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void put(const std::string& device, const std::string& state, const std::string& gid) {
    const auto port = std::filesystem::path(root_) / "class/infiniband" / device / "ports/1";
    std::filesystem::create_directories(port / "gids");
    std::ofstream(port / "state") << state << "\n";
    std::ofstream(port / "gids/0") << gid << "\n";
  }
  std::string root_ = ::testing::TempDir() + "order.XXXXXX";
  static constexpr const char* none = "0000:0000:0000:0000:0000:0000:0000:0000";
  static constexpr const char* some = "fe80:0000:0000:0000:5054:00ff:fe99:0001";
};

TEST_F(Ports, one_that_is_down_is_said) {
  put("mlx5_0", "1: DOWN", some);
  const auto order = preferred_here(root_);
  EXPECT_EQ(order.transports, Names{"tcp"});
  EXPECT_EQ(order.note,
            "no RDMA card is used. mlx5_0: port 1 is not active (1: DOWN): see to its link (ip link, rdma "
            "link, cable)");
}

TEST_F(Ports, one_without_an_address_is_said) {
  put("rxe0", "4: ACTIVE", none);
  const auto order = preferred_here(root_);
  EXPECT_EQ(order.transports, Names{"tcp"});
  EXPECT_EQ(order.note,
            "no RDMA card is used. rxe0: port 1 has no GID: give its network interface an address");
}

TEST_F(Ports, another_that_works_is_enough) {
  put("mlx5_0", "1: DOWN", some);
  put("mlx5_1", "4: ACTIVE", some);
  const auto order = preferred_here(root_);
  EXPECT_EQ(order.transports.front(), "ofi:verbs;ofi_rxm");
  EXPECT_EQ(order.note, "");
}

}  // namespace
}  // namespace weft::transport
