// SPDX-License-Identifier: BSD-3-Clause
// The order that starts a planned job, on all its nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// Which job of a run.
struct JobName {
  std::uint32_t number = 0;                ///< 0: the one that the user started
  std::optional<job::ProcessName> parent;  ///< of any other
};

/// Without launch information, which the server gathers. Reads the environment and the current directory.
/// Throws Stop (usage): --stdin names a rank that the job does not have.
channel::order::Launch launch_message(const Options& options, const Plan& plan,
                                      const placement::RankTable& table, const JobName& name = {});

/// A line for each -x NAME of `launch` that has no value here.
std::vector<std::string> notes_on_variables(const channel::order::Launch& launch);

}  // namespace weft::weftrun
