// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a node are: in which call of PMIx, in which call of the kernel, with which stack.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/job/rank.hpp"

namespace weft::job {

/// Where a rank is, whose process runs.
struct Place {
  Rank rank{0};
  std::int32_t pid = 0;
  /// What its server knows of it. not_begun: it is not in PMIx_Init yet.
  enum class Phase : std::uint8_t { not_begun, connected, finalized, gone };
  Phase phase = Phase::not_begun;
  std::string call;          ///< "PMIx_Fence of all ranks"; empty: in none that its server knows of
  std::string last;          ///< the call that its server has answered last; empty: none
  std::uint64_t age_ms = 0;  ///< of `call`, at least; without one: since that answer
  std::string kernel;        ///< "sleeps in futex"; empty: not known
  std::uint32_t stack = 0;   ///< one of Places::stacks, counted from 1; 0: none
};
template <class Archive>
void fields(Archive& archive, Place& place) {
  archive(place.rank);
  archive(place.pid);
  archive(place.phase);
  archive(place.call);
  archive(place.last);
  archive(place.age_ms);
  archive(place.kernel);
  archive(place.stack);
}
inline bool is_valid(const Place& place) noexcept {
  return place.phase <= Place::Phase::gone;
}

/// Of the ranks of one node. Ranks of one stack share its text.
struct Places {
  std::vector<Place> ranks;
  std::vector<std::string> stacks;  ///< a line for each function, innermost first
  std::string remark;               ///< why a rank has no stack; empty: nothing is to be said
};
template <class Archive>
void fields(Archive& archive, Places& places) {
  archive(places.ranks);
  archive(places.stacks);
  archive(places.remark);
}
inline bool is_valid(const Places& places) noexcept {
  for (const auto& place : places.ranks)
    if (place.stack > places.stacks.size()) return false;
  return true;
}

}  // namespace weft::job
