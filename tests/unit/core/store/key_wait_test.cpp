// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/key_wait.hpp"

#include <gtest/gtest.h>

#include "core/store/lookup.hpp"

namespace weft::store {
namespace {

TEST(KeyWait, as_a_directive) {
  using std::chrono::milliseconds;
  for (const auto wait : {milliseconds(0), milliseconds(1), milliseconds(2500), KeyWait::forever})
    EXPECT_EQ(KeyWait::unpack(KeyWait::pack(wait)), wait);
  EXPECT_EQ(KeyWait::unpack(KeyWait::pack(milliseconds(-1))), milliseconds(0));
  EXPECT_EQ(KeyWait::unpack(KeyWait::pack(milliseconds(1LL << 40))),
            milliseconds(0xfffffffe));  // never by chance forever
  data::Infos infos;
  infos.add(KeyWait::attribute, data::Value::of(KeyWait::pack(milliseconds(250))));
  const auto how = GetDirectives::parse(infos.data(), infos.size());
  ASSERT_TRUE(how && how->key_wait);
  EXPECT_EQ(KeyWait::unpack(*how->key_wait), milliseconds(250));
}

TEST(KeyWait, in_seconds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(KeyWait::parse("0"), milliseconds(0));
  EXPECT_EQ(KeyWait::parse("2"), milliseconds(2000));
  EXPECT_EQ(KeyWait::parse("0.25"), milliseconds(250));
  EXPECT_EQ(KeyWait::parse(".5"), milliseconds(500));
  EXPECT_EQ(KeyWait::parse("3."), milliseconds(3000));
  EXPECT_EQ(KeyWait::parse("1.23456"), milliseconds(1234));
  EXPECT_EQ(KeyWait::parse("inf"), KeyWait::forever);
  EXPECT_EQ(KeyWait::parse("99999999999999999999"), milliseconds(1'000'000'000'000));
  for (const char* wrong : {"", ".", "-1", "+1", "1s", "soon", "1.2.3", "nan", " 1", "1e3"})
    EXPECT_FALSE(KeyWait::parse(wrong)) << wrong;
}

}  // namespace
}  // namespace weft::store
