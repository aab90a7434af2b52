// SPDX-License-Identifier: BSD-3-Clause
// Made-up surroundings of a launcher, and what an action that must be refused says.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tools/node/stop.hpp"
#include "tools/weftrun/plan.hpp"

namespace weft::weftrun {

using Environment = std::map<std::string, std::string>;

inline auto variables(Environment environment) {
  return [environment = std::move(environment)](const char* name) -> std::optional<std::string> {
    const auto at = environment.find(name);
    return at == environment.end() ? std::nullopt : std::optional(at->second);
  };
}

/// On a machine 'head' with four cores.
inline Surroundings surroundings(Environment environment = {}) {
  Surroundings around;
  around.variable = variables(std::move(environment));
  around.host = "head";
  around.cores = 4;
  around.program_directory = "/opt/bin";
  around.is_here = [](const std::string& name) { return name == "head" || name == "localhost"; };
  return around;
}

template <class Action>
std::string refusal_of(Action&& action) {
  try {
    action();
  } catch (const Stop& stop) {
    EXPECT_EQ(stop.exit_code(), exit_status::usage);
    EXPECT_EQ(std::string(stop.what()).find('\n'), std::string::npos) << stop.what();
    return stop.what();
  }
  return "accepted";
}

inline void expect_refusal(const std::string& said, const std::string& expected) {
  EXPECT_NE(said.find(expected), std::string::npos) << said << "\n  lacks: " << expected;
}

}  // namespace weft::weftrun
