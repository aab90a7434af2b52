// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftinfo/printable.hpp"

#include <gtest/gtest.h>

namespace weft::weftinfo {
namespace {

TEST(Printable, leaves_text_as_it_is) {
  for (const char* text :
       {"", "host-1.example", "a \"quoted\" \\ name", "M\u00fcnchen", "\u65e5\u672c", "\U0001f9f5"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, shows_what_would_control_a_terminal) {
  EXPECT_EQ(printable("\x1b]0;title\x07\n\r\t\x7f"), "\\x1b]0;title\\x07\\x0a\\x0d\\x09\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // the control sequence introducer as one character
}

TEST(Printable, shows_bytes_that_are_no_character) {
  for (const auto& [bytes, shown] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\x80", "\\x80"},
           {"a\xff", "a\\xff"},
           {"\xc3", "\\xc3"},
           {"\xe2\x82", "\\xe2\\x82"},
           {"\xc0\xaf", "\\xc0\\xaf"},
           {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
           {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
           {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
           {"\xc3(", "\\xc3("}})
    EXPECT_EQ(printable(bytes), shown);
}

}  // namespace
}  // namespace weft::weftinfo
