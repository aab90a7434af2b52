// SPDX-License-Identifier: BSD-3-Clause
#include "pmi/wire2/frames.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace weft::pmi::wire2 {
namespace {

std::string framed(std::string_view text) {
  return fmt::format("{:6}{}", text.size(), text);
}

/// The messages in `bytes`, of which `at_once` come at a time; "no frame" where the reading ends.
std::vector<std::string> messages_of(std::string_view bytes, std::size_t at_once) {
  FrameReader reader;
  std::vector<std::string> out;
  while (!bytes.empty()) {
    auto part = bytes.substr(0, at_once);
    bytes.remove_prefix(part.size());
    while (!part.empty()) {
      const auto result = reader.next(part);
      if (result.is_error) return out.push_back("no frame"), out;
      if (!result.message) continue;
      std::string text = result.message->command + std::string(result.message->fault);
      for (const auto& field : result.message->fields) text += " " + field.key + "=" + field.value;
      out.push_back(text);
    }
  }
  return out;
}

std::string only_message_of(std::string_view text) {
  const auto all = messages_of(framed(text), 1 << 20);
  return all.size() == 1 ? all.front() : fmt::format("{} messages", all.size());
}

TEST(Frames, are_read_in_parts_of_any_length) {
  const auto bytes = framed("cmd=kvs-put;thrid=1;key=a;value=b=c d\n;") + framed("cmd=kvs-fence;") +
                     "000013cmd=finalize;" + "13    cmd=finalize;" + "  13  cmd=finalize;";
  const std::vector<std::string> expected{"kvs-put thrid=1 key=a value=b=c d\n", "kvs-fence", "finalize",
                                          "finalize", "finalize"};
  for (std::size_t at_once = 1; at_once <= bytes.size(); ++at_once)
    EXPECT_EQ(messages_of(bytes, at_once), expected);
}

TEST(Frames, double_the_semicolons_of_values) {
  EXPECT_EQ(only_message_of("cmd=a;k=;;;l=x;;y;m=;"), "a k=; l=x;y m=");
  EXPECT_EQ(only_message_of("cmd=a;k=;;;;;"), "a k=;;");
  EXPECT_EQ(Reply("a", "1;2").add("k", ";x;").end(0), framed("cmd=a-response;thrid=1;;2;k=;;x;;;rc=0;"));
}

TEST(Frames, may_lack_the_last_semicolon) {
  EXPECT_EQ(only_message_of("cmd=a"), "a");
  EXPECT_EQ(only_message_of("cmd=a;k=v"), "a k=v");
}

TEST(Frames, of_mpich_count_six_bytes_too_many_that_may_be_any) {
  using namespace std::string_view_literals;
  const auto bytes =
      "19    cmd=finalize;\0\0\0\0\0\0"
      "20    cmd=kvs-fence;;valu;"
      "12    cmd=a;k=;=x=;;;"sv;
  for (std::size_t at_once = 1; at_once <= bytes.size(); ++at_once)
    EXPECT_EQ(messages_of(bytes, at_once), (std::vector<std::string>{"finalize", "kvs-fence", "a"}));
  EXPECT_EQ(only_message_of("cmd=a;k=v\0w;x=abcd;"sv), std::string("a k=v\0w x=abcd"sv));
  EXPECT_EQ(only_message_of("\0\0\0\0\0\0"sv), "no frame");
}

TEST(Frames, that_begin_with_no_command_end_the_reading) {
  for (const auto* text : {"x", "cmd=", "cmd;", "cmd=a b;", "cmd=a_b;", "key=a;cmd=b;", ";;cmd=a;"})
    EXPECT_EQ(messages_of(framed(text) + framed("cmd=a;"), 100), std::vector<std::string>{"no frame"})
        << text;
}

TEST(Frames, have_a_length_of_six_digits) {
  for (const auto* text : {"GET / HTTP", "     0cmd=a;", "    -6cmd=a;", "    +6cmd=a;", "      cmd=a;",
                           "1 2   cmd=a;", "   0x6cmd=a;"})
    EXPECT_EQ(messages_of(text, 100), std::vector<std::string>{"no frame"}) << text;
}

TEST(Frames, with_a_field_that_is_none_say_what_is_wrong_and_keep_the_fields_before_it) {
  EXPECT_EQ(only_message_of("cmd=a;thrid=1;key;value=x;"), "aa field has no '=' thrid=1");
  EXPECT_EQ(only_message_of("cmd=a;thrid=1;k y=1;"), "aa field's name is none thrid=1");
  EXPECT_EQ(only_message_of("cmd=a;=1;"), "aa field's name is none");
  EXPECT_EQ(only_message_of("cmd=a;" + std::string(65, 'k') + "=1;"), "aa field's name is none");
  EXPECT_EQ(only_message_of("cmd=a;" + std::string(64, 'k') + "=1;"), "a " + std::string(64, 'k') + "=1");
}

TEST(Frames, have_a_bound_of_fields) {
  std::string text = "cmd=a;";
  for (std::size_t i = 0; i < most_fields; ++i) text += "k=;";
  EXPECT_TRUE(read_message(text)->fault.empty());
  EXPECT_EQ(read_message(text + "k=;")->fault, "too many fields");
  EXPECT_EQ(read_message(text + "k=;")->fields.size(), most_fields);
}

TEST(Frames, in_parts_are_put_together_by_their_ids) {
  EXPECT_EQ(messages_of(framed("cmd=a;k=1;concat=x;") + framed("cmd=b;concat=y;") +
                            framed("cmd=concat;concatid=x;l=2;concat=x;") +
                            framed("cmd=concat;concatid=y;m=3;") + framed("cmd=concat;concatid=x;n=4;"),
                        100),
            (std::vector<std::string>{"b m=3", "a k=1 l=2 n=4"}));
}

TEST(Frames, that_continue_nothing_are_messages_of_no_known_command) {
  EXPECT_EQ(only_message_of("cmd=concat;concatid=x;"), "concat concatid=x");
  EXPECT_EQ(only_message_of("cmd=concat;"), "concat");
}

TEST(Frames, in_parts_are_bounded_in_number_and_in_bytes) {
  std::string bytes;
  for (std::size_t i = 0; i <= most_parts; ++i) bytes += framed(fmt::format("cmd=a;concat={};", i));
  EXPECT_EQ(messages_of(bytes, 100), std::vector<std::string>{"atoo many messages in parts"});
  const std::string value(900'000, 'v');
  bytes = framed("cmd=a;concat=1;") + framed("cmd=concat;concatid=1;k=" + value + ";concat=1;") +
          framed("cmd=concat;concatid=1;l=" + value + ";concat=1;") + framed("cmd=b;");
  const auto all = messages_of(bytes, 4096);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all.front().substr(0, 28), "aa message of too many parts");
  EXPECT_EQ(all.back(), "b");
}

TEST(Replies, say_why_where_there_is_something_to_say) {
  EXPECT_EQ(Reply("kvs-put", "").end(3, "no; key"), framed("cmd=kvs-put-response;rc=3;errmsg=no;; key;"));
  EXPECT_EQ(Reply("a", "").add("flag", true).add("other", false).end(0),
            framed("cmd=a-response;flag=TRUE;other=FALSE;rc=0;"));
}

}  // namespace
}  // namespace weft::pmi::wire2
