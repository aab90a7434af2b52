// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "synthetic.hpp"

namespace weft::topology {
namespace {

using test::cpus;
using test::load;
using test::module;

// Hangs devices below the second package and below the machine itself. osdev_type is hwloc's number.
std::string xml_with_devices() {
  std::string xml = test::synthetic_xml(test::two_packages);
  const std::string below_package =
      R"(<object type="OSDev" gp_index="9001" name="mlx9_0" osdev_type="3">)"
      R"(<info name="NodeGUID" value="0001:0002:0003:0004"/><info name="SysImageGUID" value="0005:0006:0007:0008"/>)"
      R"(</object><object type="OSDev" gp_index="9002" name="card9" osdev_type="1"/>)";
  const std::string below_machine = R"(<object type="OSDev" gp_index="9003" name="eth9" osdev_type="2">)"
                                    R"(<info name="Address" value="02:00:00:00:00:09"/></object>)";
  // The XML nests: the last two ends of an object are those of the last package and of the machine.
  const auto machine_end = xml.rfind("</object>");
  xml.insert(machine_end, below_machine);
  const auto package_end = xml.rfind("</object>", machine_end - 1);
  xml.insert(package_end, below_package);
  return xml;
}

const Device& find(const std::vector<Device>& devices, std::string_view name) {
  const auto at =
      std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.os_name == name; });
  if (at == devices.end()) {
    ADD_FAILURE() << name;
    static const Device none;
    return none;
  }
  return *at;
}

TEST(Devices, are_named_and_typed) {
  const auto topology = load(xml_with_devices());
  const auto devices = module().devices(topology.get(), cpus("0").get());
  ASSERT_TRUE(devices);
  EXPECT_EQ(devices->size(), 3U);
  EXPECT_EQ(find(*devices, "eth9").type, PMIX_DEVTYPE_NETWORK);
  EXPECT_EQ(find(*devices, "eth9").uuid, "ipv4://02:00:00:00:00:09");
  EXPECT_EQ(find(*devices, "mlx9_0").type, PMIX_DEVTYPE_OPENFABRICS);
  EXPECT_EQ(find(*devices, "mlx9_0").uuid, "fab://0001:0002:0003:0004::0005:0006:0007:0008");
  EXPECT_EQ(find(*devices, "card9").type, PMIX_DEVTYPE_GPU);
  EXPECT_EQ(find(*devices, "card9").uuid.substr(0, 6), "gpu://");
}

TEST(Devices, are_nearer_to_their_own_package) {
  const auto topology = load(xml_with_devices());
  const auto near = module().devices(topology.get(), cpus("8").get());
  const auto far = module().devices(topology.get(), cpus("0").get());
  const auto both = module().devices(topology.get(), cpus("0,8").get());
  ASSERT_TRUE(near && far && both);
  EXPECT_LT(find(*near, "card9").farthest, find(*far, "card9").nearest);
  EXPECT_EQ(find(*near, "eth9").nearest, find(*far, "eth9").nearest)
      << "the machine's own device is fair to all";
  EXPECT_EQ(find(*both, "card9").nearest, find(*near, "card9").nearest);
  EXPECT_EQ(find(*both, "card9").farthest, find(*far, "card9").farthest);
}

TEST(Devices, are_at_an_unknown_distance_from_nowhere) {
  const auto topology = load(xml_with_devices());
  const auto devices = module().devices(topology.get(), cpus("").get());
  ASSERT_TRUE(devices);
  EXPECT_EQ(find(*devices, "card9").nearest, UINT16_MAX);
  EXPECT_EQ(find(*devices, "card9").farthest, UINT16_MAX);
}

TEST(Devices, may_be_none) {
  const auto topology = load(test::synthetic_xml("core:2 pu:1"));
  const auto devices = module().devices(topology.get(), cpus("0").get());
  ASSERT_TRUE(devices);
  EXPECT_TRUE(devices->empty());
}

}  // namespace
}  // namespace weft::topology
