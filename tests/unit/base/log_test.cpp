// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <gtest/gtest.h>

#include <regex>
#include <thread>
#include <vector>

#include "base/host_name.hpp"
#include "base/log_format.hpp"
#include "base/settings.hpp"

namespace weft::base {
namespace {

LogLevels levels_of(std::string_view text) {
  std::string why;
  const auto levels = LogLevels::parse(text, why);
  EXPECT_TRUE(levels) << text << ": " << why;
  return levels.value_or(LogLevels());
}

TEST(Log, warnings_and_errors_without_a_setting) {
  const auto levels = levels_of("");
  EXPECT_TRUE(levels.includes(LogLevel::error, LogPart::mesh));
  EXPECT_TRUE(levels.includes(LogLevel::warn, LogPart::mesh));
  EXPECT_FALSE(levels.includes(LogLevel::info, LogPart::mesh));
}

TEST(Log, level_for_all_or_for_one_part) {
  const auto levels = levels_of("debug:mesh,info:fences,error:jobs");
  EXPECT_TRUE(levels.includes(LogLevel::debug, LogPart::mesh));
  EXPECT_TRUE(levels.includes(LogLevel::info, LogPart::fences));
  EXPECT_FALSE(levels.includes(LogLevel::debug, LogPart::fences));
  EXPECT_FALSE(levels.includes(LogLevel::warn, LogPart::jobs));
  EXPECT_TRUE(levels.includes(LogLevel::warn, LogPart::gets));
  EXPECT_FALSE(levels.includes(LogLevel::info, LogPart::gets));
}

TEST(Log, order_of_the_words_does_not_matter) {
  for (const char* text : {"info,off:mesh", "off:mesh,info"}) {
    const auto levels = levels_of(text);
    EXPECT_FALSE(levels.includes(LogLevel::error, LogPart::mesh)) << text;
    EXPECT_TRUE(levels.includes(LogLevel::info, LogPart::jobs)) << text;
  }
}

TEST(Log, wrong_words_are_named) {
  std::string why;
  EXPECT_FALSE(LogLevels::parse("loud", why));
  EXPECT_EQ(why, "'loud' is no level: off, error, warn, info, debug");
  EXPECT_FALSE(LogLevels::parse("info:kitchen", why));
  EXPECT_TRUE(why.starts_with("'kitchen' is no part: api, client,")) << why;
  for (const char* wrong : {"info,", ",", ":", "info:", "mesh:debug", "INFO", "info;warn"})
    EXPECT_EQ(LogLevels::parse(wrong, why).has_value(), std::string_view(wrong) == "info,") << wrong;
}

TEST(Log, every_part_has_the_name_that_selects_it) {
  for (std::size_t i = 0; i < log_part_count; ++i) {
    const auto part = static_cast<LogPart>(i);
    const auto levels = levels_of("off,debug:" + std::string(to_text(part)));
    for (std::size_t j = 0; j < log_part_count; ++j)
      EXPECT_EQ(levels.includes(LogLevel::debug, static_cast<LogPart>(j)), i == j) << to_text(part);
  }
}

TEST(Log, every_level_and_part_stands_in_the_text_for_users) {
  const std::string text = setting_of(Variable::log).text;
  for (std::size_t i = 0; i < log_part_count; ++i) {
    const auto name = to_text(static_cast<LogPart>(i));
    EXPECT_NE(text.find("`" + std::string(name) + "`"), std::string::npos) << name;
  }
  for (const auto level : {LogLevel::off, LogLevel::error, LogLevel::warn, LogLevel::info, LogLevel::debug})
    EXPECT_NE(text.find("`" + std::string(to_text(level)) + "`"), std::string::npos) << to_text(level);
}

TEST(Log, line_of_a_user_and_line_of_an_administrator) {
  EXPECT_EQ(log_line(LogLevel::warn, LogPart::mesh, "n1", "", "node n2 is lost"),
            "weft: [n1] node n2 is lost\n");
  EXPECT_EQ(log_line(LogLevel::info, LogPart::mesh, "n1", "12:00:00.000001", "node n2 is lost\n"),
            "weft: [n1] 12:00:00.000001 info mesh: node n2 is lost\n");
}

/// WEFT_LOG is read once a process: this program runs without it.
TEST(Log, writes_what_the_level_lets_through) {
  testing::internal::CaptureStderr();
  warn(LogPart::mesh, "node {} is lost", 3);
  info(LogPart::mesh, "node {} is reached", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: [" + host_name() + "] node 3 is lost\n");
  testing::internal::CaptureStderr();
  set_log_host("virtual7");
  error(LogPart::api, "no");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "weft: [virtual7] no\n");
  set_log_host(host_name());
}

struct Counted {
  int* formatted;
};

}  // namespace
}  // namespace weft::base

template <>
struct fmt::formatter<weft::base::Counted> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const weft::base::Counted& counted, Context& context) const {
    ++*counted.formatted;
    return context.out();
  }
};

namespace weft::base {
namespace {

TEST(Log, arguments_of_a_line_that_is_not_written_are_not_formatted) {
  int formatted = 0;
  testing::internal::CaptureStderr();
  debug(LogPart::gets, "{}", Counted{&formatted});
  EXPECT_EQ(formatted, 0);
  warn(LogPart::gets, "{}", Counted{&formatted});
  EXPECT_EQ(formatted, 1);
  testing::internal::GetCapturedStderr();
}

TEST(Log, lines_of_threads_do_not_mix) {
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i] {
      for (int j = 0; j < 200; ++j) warn(LogPart::jobs, "thread {} line {}", i, j);
    });
  for (auto& thread : threads) thread.join();
  const auto text = testing::internal::GetCapturedStderr();
  const std::regex line(R"(weft: \[[^\]]+\] thread [0-3] line [0-9]+)");
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const auto end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    EXPECT_TRUE(std::regex_match(text.substr(at, end - at), line)) << text.substr(at, end - at);
    at = end + 1;
  }
  EXPECT_EQ(lines, 800u);
}

}  // namespace
}  // namespace weft::base
