// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/seconds.hpp"

#include <gtest/gtest.h>

namespace weft::weftrun {
namespace {

using std::chrono::milliseconds;

TEST(Seconds, parts_of_a_second) {
  EXPECT_EQ(read_seconds("1.5", 10), milliseconds(1500));
  EXPECT_EQ(read_seconds("10", 10), milliseconds(10'000));
  EXPECT_EQ(read_seconds("1e-9", 10), milliseconds(1));  // never none at all
  EXPECT_EQ(read_seconds("1e9", 1e9), milliseconds(1'000'000'000'000));
}

TEST(Seconds, what_is_no_time) {
  for (const char* text : {"", " 1", "1 ", "1s", "-1", "0", "0.0", "nan", "inf", "one", "10.1"})
    EXPECT_FALSE(read_seconds(text, 10)) << text;
}

}  // namespace
}  // namespace weft::weftrun
