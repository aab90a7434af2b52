// SPDX-License-Identifier: BSD-3-Clause
// The command line: weftsim [options]
#pragma once

#include <string>
#include <vector>

#include "tools/weftsim/operation.hpp"

namespace weft::weftsim {

struct Options {
  enum class Ask { job, networks, targets, version };
  Ask ask = Ask::job;
  Job job{};
  std::vector<std::string> operations{};  ///< of operation_names
  bool servers = false;                   ///< whole servers in the place of schedules
  bool json = false;
  std::string help{};  ///< not empty: print this and leave
};

/// args: without the program's own name. Throws Stop (usage).
Options parse_options(std::vector<std::string> args);

/// "17@20us". Throws Stop (usage).
Loss parse_loss(const std::string& text);

}  // namespace weft::weftsim
