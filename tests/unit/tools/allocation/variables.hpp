// SPDX-License-Identifier: BSD-3-Clause
// A made-up environment.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace weft::allocation {

using Environment = std::map<std::string, std::string>;

inline auto variables(Environment environment) {
  return [environment = std::move(environment)](const char* name) -> std::optional<std::string> {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional(at->second);
  };
}

}  // namespace weft::allocation
