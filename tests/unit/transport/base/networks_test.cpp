// SPDX-License-Identifier: BSD-3-Clause
#include "transport/base/networks.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <algorithm>

namespace weft::transport {
namespace {

sockaddr_storage address(const char* text) {
  sockaddr_storage out{};
  auto& v4 = reinterpret_cast<sockaddr_in&>(out);
  auto& v6 = reinterpret_cast<sockaddr_in6&>(out);
  if (::inet_pton(AF_INET, text, &v4.sin_addr) == 1)
    out.ss_family = AF_INET;
  else if (::inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
    out.ss_family = AF_INET6;
  return out;
}

Networks parsed(std::string_view text) {
  std::string complaint;
  auto networks = Networks::parse(text, complaint);
  EXPECT_TRUE(networks) << complaint;
  EXPECT_EQ(complaint, "");
  return networks.value_or(Networks());
}

const Network eth0{{"eth0"}, {address("10.1.2.3"), address("fd00::5")}};
const Network ib0{{"ib0", "mlx5_0"}, {address("192.168.7.1")}};
const Network docker0{{"docker0"}, {address("10.200.0.1")}};
const Network nameless{{}, {}};

std::string taken(std::string_view text) {
  const auto networks = parsed(text);
  std::string out;
  for (const auto* one : {&eth0, &ib0, &docker0, &nameless})
    if (networks.accepts(*one)) out += one->names.empty() ? "nameless " : one->names.front() + " ";
  return out;
}

TEST(NetworksTest, nothing_said_takes_all) {
  EXPECT_EQ(taken(""), "eth0 ib0 docker0 nameless ");
}

TEST(NetworksTest, names) {
  EXPECT_EQ(taken("eth0"), "eth0 ");
  EXPECT_EQ(taken("eth"), "");
  EXPECT_EQ(taken("ib*"), "ib0 ");
  EXPECT_EQ(taken("*0"), "eth0 ib0 docker0 ");
  EXPECT_EQ(taken("*o*"), "docker0 ");
  EXPECT_EQ(taken("mlx5_0"), "ib0 ");
  EXPECT_EQ(taken("eth0, ib0"), "eth0 ib0 ");
  EXPECT_EQ(taken("*"), "eth0 ib0 docker0 ");
}

TEST(NetworksTest, subnets) {
  EXPECT_EQ(taken("10.0.0.0/8"), "eth0 docker0 ");
  EXPECT_EQ(taken("10.1.2.0/23"), "eth0 ");
  EXPECT_EQ(taken("10.1.2.4/32"), "");
  EXPECT_EQ(taken("10.1.2.3"), "eth0 ");
  EXPECT_EQ(taken("10.1.2.2/31"), "eth0 ");
  EXPECT_EQ(taken("0.0.0.0/0"), "eth0 ib0 docker0 ");
  EXPECT_EQ(taken("fd00::/8"), "eth0 ");
  EXPECT_EQ(taken("fd00::4/127"), "eth0 ");
  EXPECT_EQ(taken("fd00::6/127"), "");
  EXPECT_EQ(taken("::/0"), "eth0 ");
}

TEST(NetworksTest, exclusions) {
  EXPECT_EQ(taken("^docker0"), "eth0 ib0 nameless ");
  EXPECT_EQ(taken("10.0.0.0/8,^docker0"), "eth0 ");
  EXPECT_EQ(taken("^docker0,10.0.0.0/8"), "eth0 ");
  EXPECT_EQ(taken("^10.0.0.0/8"), "ib0 nameless ");
  EXPECT_EQ(taken("eth0,^eth0"), "");
  EXPECT_EQ(taken("^mlx5_0"), "eth0 docker0 nameless ");
}

TEST(NetworksTest, bad_input_is_named) {
  const std::pair<const char*, const char*> wrong[] = {
      {"eth0,10.0.0.0/33",
       "WEFT_NET=eth0,10.0.0.0/33: '10.0.0.0/33' needs a number from 0 to 32 after the /"},
      {"fd00::/129", "WEFT_NET=fd00::/129: 'fd00::/129' needs a number from 0 to 128 after the /"},
      {"10.0.0.0/", "WEFT_NET=10.0.0.0/: '10.0.0.0/' needs a number from 0 to 32 after the /"},
      {"10.0.0.0/8x", "WEFT_NET=10.0.0.0/8x: '10.0.0.0/8x' needs a number from 0 to 32 after the /"},
      {"10.0.0.0/-1", "WEFT_NET=10.0.0.0/-1: '10.0.0.0/-1' needs a number from 0 to 32 after the /"},
      {"10.0/8", "WEFT_NET=10.0/8: '10.0/8' is no address"},
      {"10.0.1", "WEFT_NET=10.0.1: '10.0.1' is no address"},
      {"fd00::g/8", "WEFT_NET=fd00::g/8: 'fd00::g/8' is no address"},
      {"mlx5_0:1", "WEFT_NET=mlx5_0:1: 'mlx5_0:1' is no address"},
      {"et h0", "WEFT_NET=et h0: 'et h0' is no name of an interface or device"},
      {"^^eth0", "WEFT_NET=^^eth0: '^^eth0' is no name of an interface or device"},
      {"***", "WEFT_NET=***: '***' has more than two *"},
      {"^", "WEFT_NET=^: '^' excludes nothing"},
      {",", "WEFT_NET=,: an empty entry"},
      {"eth0,", "WEFT_NET=eth0,: an empty entry"},
      {"eth0,,ib0", "WEFT_NET=eth0,,ib0: an empty entry"},
  };
  for (const auto& [text, expected] : wrong) {
    std::string complaint;
    EXPECT_FALSE(Networks::parse(text, complaint)) << text;
    EXPECT_EQ(complaint, expected);
  }
}

TEST(NetworksTest, this_node_has_a_loopback_interface) {
  const auto all = interfaces();
  const auto found = std::find_if(all.begin(), all.end(), [](const Network& n) {
    return std::any_of(n.addresses.begin(), n.addresses.end(),
                       [](const auto& one) { return to_text(one) == "127.0.0.1"; });
  });
  ASSERT_NE(found, all.end());
  EXPECT_TRUE(parsed("127.0.0.0/8").accepts(*found));
  EXPECT_TRUE(parsed(found->names.front()).accepts(*found));
  EXPECT_FALSE(parsed("^" + found->names.front()).accepts(*found));
  EXPECT_EQ(to_text(*found).rfind(found->names.front() + " (", 0), 0u) << to_text(*found);
}

}  // namespace
}  // namespace weft::transport
