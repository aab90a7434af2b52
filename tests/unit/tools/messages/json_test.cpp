// SPDX-License-Identifier: BSD-3-Clause
#include "tools/messages/json.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace weft::messages {
namespace {

TEST(JsonText, escapes) {
  Json out;
  out.object().field("a\"b\\", std::string("line\nend\x01")).field("t", true).key("list").array();
  out.value(std::uint64_t{18446744073709551615U})
      .value(std::int64_t{-1})
      .end()
      .key("none")
      .object()
      .end()
      .end();
  EXPECT_EQ(std::move(out).take(),
            "{\"a\\\"b\\\\\": \"line\\u000aend\\u0001\", \"t\": true, \"list\": [18446744073709551615, -1], "
            "\"none\": "
            "{}}\n");
}

}  // namespace
}  // namespace weft::messages
