// SPDX-License-Identifier: BSD-3-Clause
// How the ranks of a machine are bound: what follows from the options, the number of ranks and that of cores.
// Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "tools/job/mapping.hpp"
#include "tools/placement/processors.hpp"

namespace weft::placement {

/// Why ranks are bound as they are.
enum class Reason { asked, listed, equal_parts, one_rank, slots_left, more_than_cores };

/// `bind` is never `automatic`.
struct Policy {
  job::BindTo bind = job::BindTo::none;
  job::MapBy map = job::MapBy::slot;
  bool oversubscribed = false;  ///< more ranks than cores
  std::uint32_t parts = 0;  ///< so many ranks have the cores in equal parts; 0: each is bound as `bind` says
  std::uint32_t cores_each =
      0;  ///< each rank has so many cores, or hardware threads; 0: it is bound as `bind` says
  bool may_share_cores =
      false;  ///< with cores_each: where cores are lacking, they are used again from the first
  Reason reason = Reason::asked;
};

/// Ranks of a machine, virtual nodes taken together, and the slots that it has for this job.
struct Share {
  std::uint32_t ranks = 0;
  std::uint32_t slots = 0;
};

/// Ranks that fill the slots of their machine have its cores in equal parts. Other ranks are not bound: a
/// rank may have threads, and another run may be beside this one, which would be given the same cores. A
/// single rank, for which the part is the whole, is not bound either, nor are ranks that outnumber the cores.
Policy choose_policy(const Share& share, const Processors& processors, const job::Mapping& mapping) noexcept;

/// The word for what a rank has so many of: "core", "hwthread".
const char* unit_of(const Policy& policy) noexcept;

/// For the user, as in "not bound: 1 rank for 8 slots".
std::string words_for(const Policy& policy, const Share& share, std::uint32_t cores);

}  // namespace weft::placement
