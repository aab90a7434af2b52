// SPDX-License-Identifier: BSD-3-Clause
// One program of a job as its user described it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/job/stops.hpp"

namespace weft::job {

/// -x NAME (no value: that of weftrun's own environment) or -x NAME=VALUE; and what PMIx_Spawn knows besides.
struct EnvironmentSetting {
  enum class How : std::uint8_t { set, set_if_new, unset, prepend, append };
  std::string name;
  std::optional<std::string> value;
  How how = How::set;
  char separator = ':';  ///< for prepend and append
};
template <class Archive>
void fields(Archive& archive, EnvironmentSetting& setting) {
  archive(setting.name);
  archive(setting.value);
  archive(setting.how);
  archive(setting.separator);
}
inline bool is_valid(const EnvironmentSetting& setting) noexcept {
  return setting.how <= EnvironmentSetting::How::append;
}

/// One program of the job: what stands between two colons of the command line.
struct App {
  std::vector<std::string> argv;  ///< argv[0] as the user wrote it
  std::uint32_t ranks = 0;        ///< 0 only for a single program without -n: one per core
  std::vector<EnvironmentSetting>
      settings;             ///< in the order of the command line; they travel as launch information
  std::string directory;    ///< --wdir; empty: weftrun's own
  std::string path;         ///< --path: folders in which argv[0] is looked for before those of PATH
  std::string process_set;  ///< --pset; empty: its ranks are in none
  Stops stops;              ///< for a debugger
};

template <class Archive>
void fields(Archive& archive, App& app) {
  archive(app.argv);
  archive(app.ranks);
  archive(app.directory);
  archive(app.path);
  archive(app.process_set);
  archive(app.stops);
}

}  // namespace weft::job
