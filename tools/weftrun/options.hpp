// SPDX-License-Identifier: BSD-3-Clause
// The command line: weftrun [options] program [arguments] : [options] program [arguments] : ...
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/node/app.hpp"
#include "tools/node/input_pipes.hpp"
#include "tools/node/rank.hpp"

namespace weft::weftrun {

using namespace node;  // the launcher is made of the same parts as a daemon, and of the user's side

struct Options {
  std::vector<App> apps;
  BindTo bind = BindTo::automatic;
  MapBy map = MapBy::automatic;
  InputTarget input;
  std::string output_directory;                    ///< empty: forward to weftrun's own standard streams
  std::optional<std::chrono::milliseconds> limit;  ///< --timeout
  bool report_bindings = false;
  bool tag_output = false;
  bool quiet = false;
  bool verbose = false;
  bool show_version = false;  ///< the rest is then not filled in
  std::string help;           ///< not empty: print this and leave
};

/// args: without the program's own name. Throws Stop (usage) with a line that says what is wrong and what is
/// right.
Options parse_options(const std::vector<std::string>& args);

}  // namespace weft::weftrun
