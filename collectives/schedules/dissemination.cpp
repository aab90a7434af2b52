// SPDX-License-Identifier: BSD-3-Clause
// After round r, signals from (ports + 1)^r members before it on the circle have reached a member, directly
// or through others.
#include "collectives/schedules/schedules.hpp"

namespace weft::collectives {

Schedule dissemination(std::uint32_t n, Index me, std::uint32_t ports) {
  Schedule schedule;
  const std::uint64_t base = std::uint64_t{ports} + 1, at = number(me);
  for (std::uint64_t reach = 1; reach < n; reach *= base) {
    Step step;
    // The last round uses only as many ports as the rest of the circle needs.
    for (std::uint64_t port = 1; port <= ports && port * reach < n; ++port) {
      const std::uint64_t distance = port * reach;
      step.sends.push_back({Index((at + distance) % n), {}});
      step.receives.push_back({Index((at + n - distance) % n), {}});
    }
    schedule.push_back(std::move(step));
  }
  return schedule;
}

}  // namespace weft::collectives
