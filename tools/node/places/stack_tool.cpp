// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/places/stack_tool.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace weft::node {
namespace {

constexpr std::size_t most_functions = 40;
constexpr std::size_t longest_line = 120;

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

/// Only whole paths: this process's folder is not the user's any more.
std::optional<std::string> find(std::string_view search, std::string_view name) {
  while (!search.empty()) {
    const auto end = std::min(search.find(':'), search.size());
    const auto folder = search.substr(0, end);
    search.remove_prefix(std::min(end + 1, search.size()));
    auto path = fmt::format("{}/{}", folder, name);
    if (folder.starts_with('/') && is_program(path)) return path;
  }
  return std::nullopt;
}

template <class See>
void each_line(std::string_view text, See&& see) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    see(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string printable(std::string_view text) {
  std::string out(text.substr(0, longest_line));
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return out;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1: all of it
}

/// Of a line of gdb, "poll (fds=...) at ../poll.c:29"; eu-stack writes the name alone.
std::string function_in(std::string_view rest) {
  const auto name = rest.substr(0, rest.find(" ("));
  const auto closing = rest.rfind(')');
  const auto behind = closing == std::string_view::npos ? std::string_view() : rest.substr(closing + 1);
  if (behind.starts_with(" at ")) return fmt::format("{} at {}", name, base_name(behind.substr(4)));
  if (behind.starts_with(" from ")) return fmt::format("{} in {}", name, base_name(behind.substr(6)));
  return std::string(name);
}

/// Nothing: no line of a stack.
std::optional<std::string> function_of(std::string_view line) {
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of("0123456789", 1), line.size()));
  skip_blanks(line);
  if (line.starts_with("0x")) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    skip_blanks(line);
    if (line.starts_with("in ")) line.remove_prefix(3);
  }
  if (line.empty()) return "?";
  return function_in(line);
}

}  // namespace

std::optional<StackTool> find_stack_tool(std::string_view search) {
  if (auto path = find(search, "eu-stack")) return StackTool{StackTool::Kind::eu_stack, *path};
  if (auto path = find(search, "gdb")) return StackTool{StackTool::Kind::gdb, *path};
  return std::nullopt;
}

std::vector<std::string> stack_command(const StackTool& tool, pid_t pid) {
  const auto process = std::to_string(pid);
  if (tool.kind == StackTool::Kind::eu_stack) return {tool.path, "-1", "-n", "64", "-p", process};
  return {tool.path, "-nx",   "-batch", "-iex", "set print frame-arguments none",
          "-p",      process, "-ex",    "bt 64"};
}

std::vector<std::string> stack_environment(std::string_view search) {
  return {fmt::format("PATH={}", search), "LC_ALL=C", "HOME=/", "TERM=dumb"};
}

std::string stack_in(std::string_view output) {
  std::string out;
  std::size_t count = 0;
  each_line(output, [&](std::string_view line) {
    const auto function = function_of(line);
    if (function && count < most_functions) out += fmt::format("#{} {}\n", count, printable(*function));
    count += function ? 1 : 0;
  });
  if (count > most_functions) out += fmt::format("... and {} more\n", count - most_functions);
  if (!out.empty()) out.pop_back();
  return out;
}

std::string complaint_in(std::string_view output) {
  std::string_view last;
  each_line(output, [&](std::string_view line) {
    if (!line.empty() && line != "No stack.") last = line;  // gdb's, behind the reason
  });
  return printable(last);
}

}  // namespace weft::node
