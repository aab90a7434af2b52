// SPDX-License-Identifier: BSD-3-Clause
#include "transport/shm/wait.hpp"

#include <sched.h>

namespace weft::shm {

unsigned usable_cores() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::thread::hardware_concurrency();  // more than 1024 cores: the fixed-size set is too small
}

WaitPolicy WaitPolicy::for_waiters(unsigned waiters, unsigned cores) noexcept {
  WaitPolicy policy;
  // Spinning on a core that another process needs delays the very arrival that the waiter waits for.
  if (waiters <= cores) policy.spin = std::chrono::microseconds{50};
  return policy;
}

WaitPolicy WaitPolicy::for_other_nodes(unsigned waiters, unsigned cores) noexcept {
  auto policy = for_waiters(waiters, cores);
  // A yield takes a fourth of that on a core without other runnable processes
  policy.longest_yield = std::chrono::microseconds{2};
  return policy;
}

WaitPolicy WaitPolicy::at_once() noexcept {
  WaitPolicy policy;
  policy.yield = std::chrono::microseconds{0};
  return policy;
}

}  // namespace weft::shm
