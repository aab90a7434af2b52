// SPDX-License-Identifier: BSD-3-Clause
// Messages of a schedule that would be longer than the mesh takes, as several. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/schedules/schedule.hpp"

namespace weft::collectives {

/// lengths: bytes of each member's contribution, which all members know: so the sender of a message and its
/// receiver divide it alike. A message is divided between blocks only: one block may be longer than `limit`.
/// O(members) where all contributions together are not longer than that, else O(the blocks of all messages).
Schedule in_parts(Schedule schedule, const std::vector<std::uint64_t>& lengths, std::uint64_t limit);

}  // namespace weft::collectives
