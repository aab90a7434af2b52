// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tools/weftrun/command_line/option_table.hpp"

namespace weft::weftrun {
namespace {

constexpr std::size_t help_column = 36, last_column = 110;

const char* title_of(Topic topic) noexcept {
  switch (topic) {
    case Topic::program:
      return "Before each program";
    case Topic::nodes:
      return "Before the first program: nodes";
    case Topic::placement:
      return "Before the first program: where ranks go";
    case Topic::output:
      return "Before the first program: standard input and output";
    case Topic::job:
      return "Before the first program: the job";
    case Topic::service:
      return "Before the first program: jobs in daemons that stay";
  }
  return "";
}

/// The help in lines that end before the last column, each below the other.
std::string in_lines(std::string_view help) {
  constexpr std::size_t width = last_column - help_column;
  std::string text;
  while (help.size() > width) {
    const auto blank = help.rfind(' ', width);
    const auto end = blank == std::string_view::npos ? width : blank;
    text += fmt::format("{}\n{:{}}", help.substr(0, end), "", help_column);
    help.remove_prefix(std::min(end + 1, help.size()));
  }
  return text + std::string(help);
}

std::string row(const Option& option) {
  const auto left = fmt::format("  {}{}{}", option.names, option.is_flag() ? "" : " ", option.values);
  const auto gap = left.size() < help_column ? std::string(help_column - left.size(), ' ')
                                             : "\n" + std::string(help_column, ' ');
  return left + gap + in_lines(option.help) + "\n";
}

}  // namespace

std::string help_text() {
  std::string text =
      "Run a program as the ranks of one job, on this node or on several.\n"
      "weftrun [options] program [arguments] : [-n N] [-x ..] [--wdir ..] program2 ...   (weftrun(1))\n"
      "A long option may have one dash: -np 4. For words of other launchers weftrun says what to write "
      "instead.\n";
  std::optional<Topic> topic;
  for (const Option& option : all_options()) {
    if (topic != option.topic) text += fmt::format("\n{}:\n", title_of(option.topic));
    topic = option.topic;
    text += row(option);
  }
  return text;
}

}  // namespace weft::weftrun
