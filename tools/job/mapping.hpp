// SPDX-License-Identifier: BSD-3-Clause
// How ranks are to be placed on nodes and on their processors, as the user says it.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace weft::job {

enum class BindTo { automatic, none, core, l2cache, l3cache, numa, socket, hwthread };
/// To what ranks are dealt. Among nodes all but `node` mean `slot`; within a node `node` means `slot`.
enum class MapBy { automatic, slot, node, core, l2cache, l3cache, numa, socket };

/// The spellings of the command line.
template <class Value, std::size_t n>
using Names = std::array<std::pair<const char*, Value>, n>;
inline constexpr Names<BindTo, 7> bind_names{{{"none", BindTo::none},
                                              {"core", BindTo::core},
                                              {"l2cache", BindTo::l2cache},
                                              {"l3cache", BindTo::l3cache},
                                              {"numa", BindTo::numa},
                                              {"socket", BindTo::socket},
                                              {"hwthread", BindTo::hwthread}}};
inline constexpr Names<MapBy, 7> map_names{{{"slot", MapBy::slot},
                                            {"node", MapBy::node},
                                            {"core", MapBy::core},
                                            {"l2cache", MapBy::l2cache},
                                            {"l3cache", MapBy::l3cache},
                                            {"numa", MapBy::numa},
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

struct Mapping {
  BindTo bind = BindTo::automatic;
  MapBy map = MapBy::automatic;
  /// pe=N: so many cores for each rank, hardware threads if `bind` is hwthread; 0: not said.
  std::uint32_t cores_each = 0;
  bool may_share_cores =
      false;  ///< with cores_each: ranks that find no free cores begin again with the first
  bool operator==(const Mapping&) const = default;
};
template <class Archive>
void fields(Archive& archive, Mapping& mapping) {
  archive(mapping.bind);
  archive(mapping.map);
  archive(mapping.cores_each);
  archive(mapping.may_share_cores);
}

}  // namespace weft::job
