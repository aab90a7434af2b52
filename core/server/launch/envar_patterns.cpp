// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/launch/envar_patterns.hpp"

#include <algorithm>

namespace weft::server {
namespace {

bool is_pattern(std::string_view text) {
  if (text.empty() || std::min(text.find('*'), text.size()) + 1 < text.size()) return false;
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c <= ' ' || c == '=' || c == 0x7f; });
}

bool matches(std::string_view pattern, std::string_view name) noexcept {
  const bool is_open = pattern.ends_with('*');
  if (is_open) pattern.remove_suffix(1);
  if (is_open ? name.size() < pattern.size() : name.size() != pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] != '?' && pattern[i] != name[i]) return false;
  return true;
}

}  // namespace

Result<EnvarPatterns> EnvarPatterns::parse(std::string_view text, std::string& bad) {
  EnvarPatterns out;
  for (;;) {
    const auto end = text.find(';');
    const auto each = text.substr(0, end);
    if (!is_pattern(each)) {
      bad = each;
      return fail(Errc::invalid, "a pattern of environment variables");
    }
    out.patterns_.emplace_back(each);
    if (end == text.npos) return out;
    text.remove_prefix(end + 1);
  }
}

bool EnvarPatterns::match(std::string_view name) const noexcept {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [&](const std::string& pattern) { return matches(pattern, name); });
}

}  // namespace weft::server
