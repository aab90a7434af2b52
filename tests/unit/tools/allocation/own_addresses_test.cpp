// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/own_addresses.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tools/allocation/own_names.hpp"

namespace weft::allocation {
namespace {

TEST(OwnAddresses, are_this_machines_and_no_loopback) {
  const auto addresses = own_addresses();
  EXPECT_LE(addresses.size(), longest_addresses);
  std::istringstream list(addresses);
  std::set<std::string> seen;
  for (std::string address; std::getline(list, address, ',');) {
    EXPECT_TRUE(seen.insert(address).second) << address;
    EXPECT_TRUE(OwnNames::here().matches(address)) << address;
    in6_addr six{};
    in_addr four{};
    const bool is_four = ::inet_pton(AF_INET, address.c_str(), &four) == 1;
    ASSERT_TRUE(is_four || ::inet_pton(AF_INET6, address.c_str(), &six) == 1) << address;
    EXPECT_FALSE(address.starts_with("127.") || address == "::1" || address.starts_with("fe80:")) << address;
  }
  EXPECT_FALSE(addresses.ends_with(','));
}

}  // namespace
}  // namespace weft::allocation
