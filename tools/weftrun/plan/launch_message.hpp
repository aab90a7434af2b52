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

/// What ranks get from their user beside the options.
struct Surroundings {
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::string directory;
  std::optional<job::Attacher> attacher{};  ///< of a service; nothing: the user has started this process
  static Surroundings own();                ///< of this process
};

/// The namespace of this process's only job; with a number behind a dot, that of each of several.
std::string own_namespace();

/// Which job of this process.
struct JobName {
  std::uint32_t number = 0;                ///< 0: there is one that the process was started for
  std::optional<job::ProcessName> parent;  ///< the process that has asked for it; nothing: its user has
  std::optional<job::ProcessName> target;  ///< of daemons of a debugger; nothing: it is of others
};

/// Without launch information, which the server gathers. Throws Stop (usage): --stdin names a rank that the
/// job does not have.
channel::order::Launch launch_message(const Options& options, const Plan& plan,
                                      const placement::RankTable& table, const Surroundings& surroundings,
                                      const JobName& name = {});

/// A line for each -x NAME of `launch` that has no value here.
std::vector<std::string> notes_on_variables(const channel::order::Launch& launch);

}  // namespace weft::weftrun
