// SPDX-License-Identifier: BSD-3-Clause
// Before the round of distance d, a member has the d blocks that begin with its own; after receiving from the
// member d further up, it has 2 d.
#include <algorithm>

#include "collectives/schedules/schedules.hpp"

namespace weft::collectives {

Schedule bruck(std::uint32_t n, Index me) {
  Schedule schedule;
  const std::uint64_t at = number(me);
  for (std::uint64_t distance = 1; distance < n; distance *= 2) {
    const auto count = static_cast<std::uint32_t>(std::min(distance, n - distance));
    const auto below = Index((at + n - distance) % n), above = Index((at + distance) % n);
    schedule.push_back({.sends = {{below, {me, count}}}, .receives = {{above, {above, count}}}});
  }
  return schedule;
}

}  // namespace weft::collectives
