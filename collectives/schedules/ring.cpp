// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/schedules/schedules.hpp"

namespace weft::collectives {

Schedule ring(std::uint32_t n, Index me) {
  Schedule schedule;
  const std::uint64_t at = number(me);
  const auto next = Index((at + 1) % n), before = Index((at + n - 1) % n);
  for (std::uint32_t round = 0; round + 1 < n; ++round) {
    const auto passed_on = Index((at + n - round) % n), received = Index((at + n - 1 - round) % n);
    schedule.push_back({.sends = {{next, {passed_on, 1}}}, .receives = {{before, {received, 1}}}});
  }
  return schedule;
}

}  // namespace weft::collectives
