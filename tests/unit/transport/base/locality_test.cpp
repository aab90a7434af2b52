// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/locality.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace weft::transport {
namespace {

/// A made-up sysfs: two cards on two nodes, and an interface without a card.
class LocalityTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/locality_test_XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    write("bus/pci/devices/0000:3b:00.0/numa_node", "0\n");
    write("bus/pci/devices/0000:af:00.1/numa_node", "1\n");
    write("bus/pci/devices/0000:01:00.0/numa_node", "-1\n");
    write("class/net/eth0/device/numa_node", "1\n");
    write("class/infiniband/mlx5_0/device/numa_node", "0\n");
    write("class/net/lo/mtu", "65536\n");
    write("devices/system/node/node0/distance", "10 21\n");
    write("devices/system/node/node1/distance", "21 10\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const char* text) {
    const auto path = std::filesystem::path(root_) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root_;
};

TEST_F(LocalityTest, nodes_of_cards) {
  const Locality locality(root_);
  EXPECT_EQ(locality.node_of_pci("0000:3b:00.0"), 0);
  EXPECT_EQ(locality.node_of_pci("0000:af:00.1"), 1);
  EXPECT_EQ(locality.node_of_pci("0000:01:00.0"), Locality::unknown);
  EXPECT_EQ(locality.node_of_pci("0000:02:00.0"), Locality::unknown);
  EXPECT_EQ(locality.node_of_device("eth0"), 1);
  EXPECT_EQ(locality.node_of_device("mlx5_0"), 0);
  EXPECT_EQ(locality.node_of_device("lo"), Locality::unknown);
  for (const char* name : {"", ".", "..", "../infiniband/mlx5_0", "net/eth0"})
    EXPECT_EQ(locality.node_of_device(name), Locality::unknown) << name;
}

TEST_F(LocalityTest, near_unknown_and_far) {
  const Locality locality(root_);
  EXPECT_EQ(locality.distance(0, 0), 10u);
  EXPECT_EQ(locality.distance(0, 1), 21u);
  EXPECT_EQ(locality.distance(1, 0), 21u);
  const auto not_known = locality.distance(0, Locality::unknown);
  EXPECT_GT(not_known, 10u);
  EXPECT_LT(not_known, 20u);
  EXPECT_EQ(locality.distance(Locality::unknown, 1), not_known);
}

TEST_F(LocalityTest, without_a_table_of_distances) {
  const Locality locality(root_ + "/nowhere");
  EXPECT_LT(locality.distance(3, 3), locality.distance(3, Locality::unknown));
  EXPECT_LT(locality.distance(3, Locality::unknown), locality.distance(3, 4));
  EXPECT_EQ(locality.node_of_pci("0000:3b:00.0"), Locality::unknown);
}

}  // namespace
}  // namespace weft::transport
