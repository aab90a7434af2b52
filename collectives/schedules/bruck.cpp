// SPDX-License-Identifier: BSD-3-Clause
// Before the round of distance d one has the d blocks from its own on; with that of the member d further up, 2 d.
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
