// SPDX-License-Identifier: BSD-3-Clause
// The command line: weftrun [options] program [arguments] : [options] program [arguments] : ...
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/weftrun/rank.hpp"

namespace weft::weftrun {

enum class BindTo { automatic, none, core, numa };
enum class MapBy { automatic, slot, core, numa };

const char* name_of(BindTo bind) noexcept;
const char* name_of(MapBy map) noexcept;

/// -x NAME (no value: as weftrun's own environment has it) or -x NAME=VALUE.
struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value;
};

/// One program of the job, as written between two colons.
struct App {
  std::vector<std::string> argv;             ///< argv[0] as the user wrote it
  std::uint32_t ranks = 0;                   ///< 0 only for a single program without -n: one per core
  std::vector<EnvironmentSetting> settings;  ///< in the order of the command line; later ones win
  std::string directory;                     ///< --wdir; empty: weftrun's own
};

/// Who reads weftrun's standard input. Everybody else reads /dev/null.
struct InputTarget {
  enum class Kind { one, all, none };
  Kind kind = Kind::one;
  Rank rank{0};  ///< for Kind::one
};

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
