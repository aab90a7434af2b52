// SPDX-License-Identifier: BSD-3-Clause
#include "tools/node/marks.hpp"

#include <fmt/format.h>

#include <string_view>

#include "tools/node/process_table.hpp"

namespace weft::node {
namespace {

template <class Fits>
HasMark look(pid_t pid, Fits&& fits) {
  const std::string variables = contents_of(fmt::format("/proc/{}/environ", pid));
  if (variables.empty()) return HasMark::unknown;
  for (std::string_view rest = variables; !rest.empty();) {
    const auto variable = rest.substr(0, rest.find('\0'));
    if (fits(variable)) return HasMark::yes;
    rest.remove_prefix(std::min(rest.size(), variable.size() + 1));
  }
  return HasMark::no;
}

}  // namespace

Mark Mark::of_node(const std::string& launch, std::uint32_t node) {
  return {fmt::format("WEFT_NODE={}.", launch), fmt::format(".{}", node)};
}

std::string Mark::variable(const std::string& launch, std::uint32_t job, std::uint32_t node) {
  return fmt::format("WEFT_NODE={}.{}.{}", launch, job, node);
}

HasMark has_mark(pid_t pid, const Mark& mark) {
  return look(pid, [&](std::string_view variable) {
    return variable.size() >= mark.begin.size() + mark.end.size() && variable.starts_with(mark.begin) &&
           variable.ends_with(mark.end);
  });
}

HasMark has_variable(pid_t pid, const std::string& variable) {
  return look(pid, [&](std::string_view each) { return each == variable; });
}

}  // namespace weft::node
