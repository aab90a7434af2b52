// SPDX-License-Identifier: BSD-3-Clause
// One program of a job as its user described it, and how its ranks are to be placed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::job {

enum class BindTo { automatic, none, core, numa, socket, hwthread };
/// How ranks are round_robin out. Among nodes `core`, `numa` and `socket` mean `slot`; within a node `node`
/// means `slot`.
enum class MapBy { automatic, slot, node, core, numa, socket };

/// The spellings of the command line.
template <class Value, std::size_t n>
using Names = std::array<std::pair<const char*, Value>, n>;
inline constexpr Names<BindTo, 5> bind_names{{{"none", BindTo::none},
                                              {"core", BindTo::core},
                                              {"numa", BindTo::numa},
                                              {"socket", BindTo::socket},
                                              {"hwthread", BindTo::hwthread}}};
inline constexpr Names<MapBy, 5> map_names{{{"slot", MapBy::slot},
                                            {"node", MapBy::node},
                                            {"numa", MapBy::numa},
                                            {"core", MapBy::core},
                                            {"socket", MapBy::socket}}};

template <class Value, std::size_t n>
const char* name_in(const Names<Value, n>& names, Value wanted) noexcept {
  for (const auto& [name, value] : names)
    if (value == wanted) return name;
  return "automatic";
}
inline const char* name_of(BindTo bind) noexcept {
  return name_in(bind_names, bind);
}
inline const char* name_of(MapBy map) noexcept {
  return name_in(map_names, map);
}

/// -x NAME (no value: that of weftrun's own environment) or -x NAME=VALUE.
struct EnvironmentSetting {
  std::string name;
  std::optional<std::string> value;
};

/// One program of the job: what stands between two colons of the command line.
struct App {
  std::vector<std::string> argv;  ///< argv[0] as the user wrote it
  std::uint32_t ranks = 0;        ///< 0 only for a single program without -n: one per core
  std::vector<EnvironmentSetting>
      settings;             ///< in the order of the command line; they travel as launch information
  std::string directory;    ///< --wdir; empty: weftrun's own
  std::string process_set;  ///< --pset; empty: its ranks are in none
};

template <class Archive>
void fields(Archive& archive, App& app) {
  archive(app.argv);
  archive(app.ranks);
  archive(app.directory);
  archive(app.process_set);
}

}  // namespace weft::job
