// SPDX-License-Identifier: BSD-3-Clause
// When the ranks of this node were in their first calls: what their cells in the segment say, of all ranks
// together. Nothing is kept for it. The loop's thread only.
#pragma once

#include <cstdint>

#include "core/data/types/value.hpp"
#include "core/server/jobs/job.hpp"
#include "core/store/segment/start_cell.hpp"
#include "weft/result.hpp"

namespace weft::server {

/// The first calls of one kind that have ended. Nanoseconds of CLOCK_MONOTONIC, and between two of these.
struct FirstCalls {
  std::uint32_t ranks = 0;       ///< whose call has ended; 0: the rest says nothing
  std::uint64_t last_begun = 0;  ///< when the last of them has entered it
  std::uint64_t after_last = 0;  ///< from then until the last of them has left it
  std::uint64_t longest = 0;     ///< of one rank

  /// A rank whose numbers are none, or cannot be, is left out.
  void add(const store::FirstCall& call) noexcept;
};

struct StartTimes {
  FirstCalls init, fence, fetch;
  std::uint64_t fence_bytes = 0;  ///< that this node gave to the first fence of the whole job
};

/// Cost: a look at each local rank's cell. Of a job without cells: nothing but zeros.
StartTimes start_times_of(const Job& job) noexcept;

/// The value of the key `weft.start`: infos `weft.start.init`, `.fence` and `.fetch`, each an array of the
/// numbers of FirstCalls in their order, and `weft.bytes`. Errors: no_memory.
inline constexpr const char* start_key = "weft.start";
Result<data::Value> to_value(const StartTimes& times);

}  // namespace weft::server
