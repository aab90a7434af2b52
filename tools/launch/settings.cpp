// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/settings.hpp"

namespace weft::launch {
namespace {

std::string_view name_part(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

}  // namespace

bool is_server_setting(const char* variable) noexcept {
  constexpr std::array<std::string_view, 3> prefixes = {"WEFT_", "FI_", "UCX_"};
  const std::string_view text(variable), name = name_part(text);
  const auto begins = [name](std::string_view prefix) { return name.substr(0, prefix.size()) == prefix; };
  return name.size() < text.size() && std::any_of(prefixes.begin(), prefixes.end(), begins) &&
         !base::is_internal(name) && name != base::setting_of(base::Variable::transport).name;
}

std::vector<std::string> server_settings(char* const* inherited) {
  std::vector<std::string> settings;
  for (char* const* at = inherited; at != nullptr && *at != nullptr; ++at) {
    if (is_server_setting(*at)) settings.emplace_back(*at);
  }
  return settings;
}

void adopt_settings(const std::vector<std::string>& settings) {
  for (const auto& setting : settings) {
    const auto name = name_part(setting);
    // The ports that may be opened are the node's own matter.
    const bool is_own = name == base::setting_of(base::Variable::ports).name;
    ::setenv(std::string(name).c_str(), setting.c_str() + name.size() + 1, is_own ? 0 : 1);
  }
}

}  // namespace weft::launch
