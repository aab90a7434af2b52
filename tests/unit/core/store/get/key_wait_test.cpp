// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/key_wait.hpp"

#include <gtest/gtest.h>

#include "core/store/get/lookup.hpp"

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

}  // namespace
}  // namespace weft::store
