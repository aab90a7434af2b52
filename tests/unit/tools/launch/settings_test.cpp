// SPDX-License-Identifier: BSD-3-Clause
// Which variables the daemons get of the launcher.
#include "tools/launch/settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace weft::launch {
namespace {

TEST(Settings, what_servers_read_is_handed_on) {
  char fence[] = "WEFT_FENCE=full", size[] = "WEFT_SEGMENT_BYTES=1",
       fabric[] = "FI_PROVIDER=", tls[] = "UCX_TLS=tcp";
  char token[] = "WEFT_TOKEN=1", segment[] = "WEFT_SEGMENT=1:2", chosen[] = "WEFT_TRANSPORT=ucx",
       path[] = "PATH=/bin", bare[] = "WEFT_FENCE";
  char* const inherited[] = {fence, token, size, segment, fabric, chosen, tls, path, bare, nullptr};
  EXPECT_EQ(server_settings(inherited), (std::vector<std::string>{fence, size, fabric, tls}));
  adopt_settings({"WEFT_TEST_SETTING=a=b", "UCX_TEST_SETTING="});
  EXPECT_STREQ(std::getenv("WEFT_TEST_SETTING"), "a=b");
  EXPECT_STREQ(std::getenv("UCX_TEST_SETTING"), "");
  adopt_settings({"WEFT_PORTS=20000-20999"});
  EXPECT_STREQ(std::getenv("WEFT_PORTS"), "20000-20999");
  adopt_settings({"WEFT_PORTS=none", "WEFT_TEST_SETTING=c"});
  EXPECT_STREQ(std::getenv("WEFT_PORTS"), "20000-20999") << "the node's own";
  EXPECT_STREQ(std::getenv("WEFT_TEST_SETTING"), "c");
  ::unsetenv("WEFT_PORTS");
}

}  // namespace
}  // namespace weft::launch
