// SPDX-License-Identifier: BSD-3-Clause
// A made-up context for plans.
#pragma once

#include <string>
#include <utility>

#include "tests/unit/tools/allocation/variables.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// On a machine 'head' with four cores of two threads.
inline PlanContext plan_context(allocation::Environment environment = {}) {
  PlanContext context;
  context.variable = allocation::variables(std::move(environment));
  context.host = "head";
  context.cores = 4;
  context.threads = 8;
  context.program_directory = "/opt/bin";
  context.is_here = [](const std::string& name) { return name == "head" || name == "localhost"; };
  return context;
}

}  // namespace weft::weftrun
