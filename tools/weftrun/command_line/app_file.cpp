// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/command_line/app_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "tools/launch/agent_words.hpp"
#include "tools/weftrun/command_line/options.hpp"

namespace weft::weftrun {
namespace {

/// The next line, with those that it goes on in, and how many these are.
std::string take_line(std::string_view& text, std::size_t& lines) {
  std::string line;
  for (lines = 0; !text.empty();) {
    const auto end = std::min(text.find('\n'), text.size());
    line += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++lines;
    if (!line.empty() && line.back() == '\r') line.pop_back();  // a file of another system
    if (line.empty() || line.back() != '\\') break;
    line.back() = ' ';
  }
  return line;
}

}  // namespace

std::vector<AppLine> read_app_file(std::string_view text, const std::string& name) {
  std::vector<AppLine> programs;
  std::size_t lines = 0;
  for (std::size_t number = 1; !text.empty(); number += lines) {
    const auto line = take_line(text, lines);
    const auto begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const auto words = launch::split_words(line);
    if (!words) refuse(fmt::format("--app {}, line {}: a quote does not end", name, number));
    programs.push_back({*words, number});
  }
  if (programs.empty())
    refuse(fmt::format("--app {}: it names no program; a line is -n N [options] program arguments", name));
  return programs;
}

std::vector<AppLine> read_app_file(const std::string& name) {
  std::ifstream stream(name, std::ios::binary);
  std::ostringstream text;
  std::error_code error;
  if (!stream || std::filesystem::is_directory(name, error))
    refuse(fmt::format("--app {}: it cannot be read; check its name and permissions", name));
  text << stream.rdbuf();
  return read_app_file(text.str(), name);
}

}  // namespace weft::weftrun
