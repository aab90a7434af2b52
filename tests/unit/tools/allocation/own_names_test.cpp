// SPDX-License-Identifier: BSD-3-Clause
#include "tools/allocation/own_names.hpp"

#include <gtest/gtest.h>

namespace weft::allocation {
namespace {

TEST(OwnNames, same_host) {
  EXPECT_TRUE(same_host("node1", "NODE1"));
  EXPECT_TRUE(same_host("node1", "node1.cluster.org"));
  EXPECT_TRUE(same_host("node1.cluster.org", "node1"));
  EXPECT_FALSE(same_host("node1.a.org", "node1.b.org"));
  EXPECT_FALSE(same_host("node1", "node10"));
  EXPECT_FALSE(same_host("", ""));
  EXPECT_FALSE(same_host("10", "10.0.0.1"));  // an address has no domain
}

TEST(OwnNames, what_means_this_machine) {
  const OwnNames own{"node1.cluster.org", "c17"};
  for (const char* name : {"node1", "Node1.cluster.org", "c17", "localhost", "127.0.0.1", "127.9.9.9", "::1"})
    EXPECT_TRUE(own.matches(name)) << name;
  for (const char* name : {"node2", "node1.other.org", "192.0.2.7", "2001:db8::7", "c1", ""})
    EXPECT_FALSE(own.matches(name)) << name;
  EXPECT_TRUE(OwnNames::here().matches(OwnNames::here().host));
}

TEST(OwnNames, only_what_resolves_elsewhere_is_certain) {
  EXPECT_TRUE(resolves_elsewhere("192.0.2.7"));
  EXPECT_FALSE(resolves_elsewhere("127.0.0.1"));
  EXPECT_FALSE(resolves_elsewhere("localhost"));
  EXPECT_FALSE(resolves_elsewhere("a-name-without-an-address.invalid"));
}

}  // namespace
}  // namespace weft::allocation
