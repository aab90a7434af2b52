// SPDX-License-Identifier: BSD-3-Clause
// How long the phases of a job's start took at one node.
#pragma once

#include <cstdint>
#include <optional>

namespace weft::job {

/// Each is a duration by the clock of its node. Nothing: the phase has not come to its end there, or no rank
/// of the node has been in it.
struct NodeStart {
  using Microseconds = std::optional<std::uint64_t>;
  Microseconds map;    ///< from the order until the node's ranks are planned and registered
  Microseconds spawn;  ///< from then until their processes are started
  Microseconds load;   ///< from then until the last rank is in PMIx_Init
  Microseconds init;   ///< the longest PMIx_Init
  Microseconds fence;  ///< the first fence of each rank: from the last that entered it until the last left it
  Microseconds fetch;  ///< the longest first Get of a card of another node
  std::uint32_t ranks = 0;                             ///< of the node
  std::uint32_t in_init = 0, fenced = 0, fetched = 0;  ///< ranks that have come through these
  std::uint64_t fence_bytes = 0;                       ///< that the node gave to the first fence of the job
};
template <class Archive>
void fields(Archive& archive, NodeStart& start) {
  archive(start.map);
  archive(start.spawn);
  archive(start.load);
  archive(start.init);
  archive(start.fence);
  archive(start.fetch);
  archive(start.ranks);
  archive(start.in_init);
  archive(start.fenced);
  archive(start.fetched);
  archive(start.fence_bytes);
}

}  // namespace weft::job
