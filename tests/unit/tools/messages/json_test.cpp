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

TEST(JsonText, has_thousandths) {
  Json out;
  out.array().thousandths(0).thousandths(1'002).thousandths(18446744073709551615U).end();
  EXPECT_EQ(std::move(out).take(), "[0.000, 1.002, 18446744073709551.615]\n");
}

TEST(JsonText, is_utf8_whatever_it_is_given) {
  const auto written = [](std::string_view text) {
    Json out;
    out.value(text);
    return std::move(out).take();
  };
  EXPECT_EQ(written("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"\n");
  for (const char* bad :
       {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe0\x80\x80"}) {
    const auto text = written(bad);
    EXPECT_EQ(text.find_first_not_of("\"\\ufd\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\\ufffd"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace weft::messages
