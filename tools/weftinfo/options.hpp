// SPDX-License-Identifier: BSD-3-Clause
// The command line: weftinfo [options] [PID]
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::weftinfo {

struct Options {
  std::optional<long> pid;  ///< of a server; nothing: the only cluster of this user
  bool list = false, stats = false, memory = false, collectives = false, json = false, metrics = false,
       show_version = false, settings = false;
  std::string help;  ///< not empty: print this and leave
};

/// args: without the program's own name. Throws Stop (usage).
Options parse_options(std::vector<std::string> args);

}  // namespace weft::weftinfo
