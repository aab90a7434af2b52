// SPDX-License-Identifier: BSD-3-Clause
// Made-up surroundings of a launcher.
#pragma once

#include <string>
#include <utility>

#include "tests/unit/tools/allocation/variables.hpp"
#include "tools/weftrun/plan.hpp"

namespace weft::weftrun {

/// On a machine 'head' with four cores.
inline Surroundings surroundings(allocation::Environment environment = {}) {
  Surroundings around;
  around.variable = allocation::variables(std::move(environment));
  around.host = "head";
  around.cores = 4;
  around.program_directory = "/opt/bin";
  around.is_here = [](const std::string& name) { return name == "head" || name == "localhost"; };
  return around;
}

}  // namespace weft::weftrun
