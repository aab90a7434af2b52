// SPDX-License-Identifier: BSD-3-Clause
#include "tools/placement/processor_lists.hpp"

#include <gtest/gtest.h>

namespace weft::placement {
namespace {

TEST(ProcessorList, numbers_and_ranges) {
  std::string complaint;
  EXPECT_EQ(read_processor_list("0-2,8,1", complaint), (std::vector<unsigned>{0, 1, 2, 8}));
  EXPECT_EQ(read_processor_list("65535", complaint), std::vector<unsigned>{65535});
  EXPECT_EQ(complaint, "");
  for (const char* bad :
       {"", ",", "1,", "x", "-1", "3-1", "1-", "1-2-3", "65536", "0-99999999999", "1:2", "*", " 1"}) {
    complaint.clear();
    EXPECT_FALSE(read_processor_list(bad, complaint)) << bad;
    EXPECT_NE(complaint.find("is no processor"), std::string::npos) << bad;
  }
}

TEST(CoreList, cores_of_the_node_and_of_sockets) {
  std::string complaint;
  using Ranges = std::vector<CoreRange>;
  EXPECT_EQ(read_core_list("0-3,8", complaint), (Ranges{{{}, 0, 3}, {{}, 8, 8}}));
  EXPECT_EQ(read_core_list("1:0-2,5", complaint), (Ranges{{1, 0, 2}, {1, 5, 5}}));
  EXPECT_EQ(read_core_list("0:*,1:0", complaint), (Ranges{{0, 0, CoreRange::all}, {1, 0, 0}}));
  EXPECT_EQ(read_core_list("*", complaint), (Ranges{{{}, 0, CoreRange::all}}));
  EXPECT_EQ(complaint, "");
  for (const char* bad : {"", ",", "x:1", ":1", "1:", "1:2:3", "2-1", "*-1", "1:x"}) {
    complaint.clear();
    EXPECT_FALSE(read_core_list(bad, complaint)) << bad;
    EXPECT_NE(complaint, "") << bad;
  }
}

}  // namespace
}  // namespace weft::placement
