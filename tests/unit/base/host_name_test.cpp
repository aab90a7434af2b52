// SPDX-License-Identifier: BSD-3-Clause
#include "base/host_name.hpp"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace weft::base {
namespace {

TEST(host_name, is_the_kernels_node_name) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  const std::string node = system.nodename;
  EXPECT_EQ(host_name(), node.empty() ? "localhost" : node);
}

}  // namespace
}  // namespace weft::base
