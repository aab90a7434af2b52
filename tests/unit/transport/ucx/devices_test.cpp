// SPDX-License-Identifier: BSD-3-Clause
// WEFT_NET on the devices that UCX has.
#include "transport/ucx/devices.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include "transport/ucx/endpoint.hpp"

namespace weft::ucx {
namespace {

TEST(Modules, those_for_cards_only_where_there_is_one) {
  const auto sysfs = std::filesystem::temp_directory_path() / ("modules_test_" + std::to_string(::getpid()));
  const auto cards = sysfs / "class" / "infiniband";
  const auto are_out = [&] { return useful_modules(sysfs).find("rdmacm") != std::string::npos; };
  EXPECT_TRUE(are_out());
  std::filesystem::create_directories(cards);
  EXPECT_TRUE(are_out());
  std::filesystem::create_directories(cards / "mlx5_0");
  EXPECT_FALSE(are_out());
  EXPECT_EQ(useful_modules(sysfs).find("^cma,cuda*"), 0u);
  std::filesystem::remove_all(sysfs);
}

TEST(Devices, nothing_to_leave_out) {
  std::string why_not;
  EXPECT_EQ(devices_for({"lo"}, "lo", why_not), "");
  EXPECT_EQ(devices_for({"lo"}, "127.0.0.0/8", why_not), "");
}

TEST(Devices, some_are_left_out) {
  std::string why_not;
  EXPECT_EQ(devices_for({"lo", "mlx5_0:1", "mlx5_1:1"}, "mlx5_*,^mlx5_1", why_not), "mlx5_0:1");
  EXPECT_EQ(devices_for({"lo", "mlx5_0:1"}, "^lo", why_not), "mlx5_0:1");
  EXPECT_EQ(devices_for({"lo", "mlx5_0:1"}, "127.0.0.1", why_not), "lo");
}

TEST(Devices, none_is_left) {
  std::string why_not;
  const auto none = devices_for({"lo", "mlx5_0:1"}, "10.99.0.0/16", why_not);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::not_found);
  for (const char* part : {"WEFT_NET=10.99.0.0/16", "lo", "127.0.0.1", "mlx5_0"})
    EXPECT_NE(why_not.find(part), std::string::npos) << why_not;
  EXPECT_FALSE(devices_for({}, "eth0", why_not)) << "nothing is found that could be held against the list";
  EXPECT_NE(why_not.find("no network device"), std::string::npos) << why_not;
  const auto wrong = devices_for({"lo"}, "10.0.0.0/99", why_not);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::invalid);
  EXPECT_NE(why_not.find("10.0.0.0/99"), std::string::npos) << why_not;
}

TEST(Devices, a_card_has_the_names_and_addresses_of_its_interface) {
  std::string root = ::testing::TempDir() + "devices.XXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  std::filesystem::create_directories(root + "/class/infiniband/mlx5_0/device/net/lo");
  const auto network = network_of("mlx5_0:1", transport::interfaces(), root);
  std::filesystem::remove_all(root);
  EXPECT_EQ(network.names, (std::vector<std::string>{"mlx5_0", "lo"}));
  EXPECT_FALSE(network.addresses.empty());
}

/// The real thing: UCX on the loopback interface alone, and on nothing.
TEST(Devices, of_a_real_endpoint) {
  ::unsetenv("UCX_NET_DEVICES");
  UcxTransport transport;
  ASSERT_EQ(::setenv("WEFT_NET", "lo", 1), 0);
  const auto opened = transport.open({"tcp"});
  ASSERT_TRUE(opened) << opened.error().what;
  ASSERT_EQ(::setenv("WEFT_NET", "10.99.0.0/16", 1), 0);
  const auto refused = transport.open({"tcp"});
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string(refused.error().what).find("WEFT_NET=10.99.0.0/16"), std::string::npos);
  ASSERT_EQ(::setenv("UCX_NET_DEVICES", "lo", 1), 0);
  EXPECT_TRUE(transport.open({"tcp"})) << "UCX's own word goes first";
  ::unsetenv("UCX_NET_DEVICES");
  ::unsetenv("WEFT_NET");
}

TEST(LacksWireup, only_where_rc_stands_alone) {
  for (const char* bad : {"rc_verbs", "rc_mlx5", "rc_verbs,self", "rc_verbs,tcp,self", "self,rc_mlx5,posix"})
    EXPECT_TRUE(lacks_wireup(bad)) << bad;
  for (const char* good :
       {"", "rc", "rc_v", "rc_x,self", "ib", "all", "rc_verbs,ud_verbs", "rc_verbs,ud_verbs:aux",
        "rc_mlx5,dc_mlx5", "ud_verbs", "tcp", "tcp,self", "^rc_verbs", "^tcp"})
    EXPECT_FALSE(lacks_wireup(good)) << good;
}

}  // namespace
}  // namespace weft::ucx
