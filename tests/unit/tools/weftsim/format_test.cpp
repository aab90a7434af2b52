// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftsim/format.hpp"

#include <gtest/gtest.h>

namespace weft::weftsim {
namespace {

TEST(Format, times_have_three_digits) {
  EXPECT_EQ(time_text(0), "0 ns");
  EXPECT_EQ(time_text(950), "950 ns");
  EXPECT_EQ(time_text(1'234), "1.23 us");
  EXPECT_EQ(time_text(12'345), "12.3 us");
  EXPECT_EQ(time_text(123'456'000), "123 ms");
  EXPECT_EQ(time_text(9'000'000'000), "9.00 s");
  EXPECT_EQ(time_text(9'000'000'000'000), "9000 s");
}

TEST(Format, sizes_too) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1536), "1.50 KiB");
  EXPECT_EQ(size_text(std::uint64_t{3} << 30), "3.00 GiB");
}

}  // namespace
}  // namespace weft::weftsim
