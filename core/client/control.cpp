// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/control.hpp"

#include <algorithm>

namespace weft::client {

void Control::notify(store::NoticeKind kind, std::uint32_t arg) noexcept {
  {
    const std::lock_guard lock(ring_mutex);
    (void)ring->push({static_cast<std::uint32_t>(kind), arg});
  }
  dirty->fetch_or(dirty_bit, std::memory_order_release);
  if (doorbell->ring()) (void)connection->send(link::MessageType::nudge, {});
}

shm::WaitPolicy wait_policy(const store::JobView& job, bool remote, std::uint32_t members) noexcept {
  const auto waiters = std::max(job.local_count(), members);
  const auto cores = job.header().cores;
  if (remote) return shm::WaitPolicy::for_other_nodes(waiters + 1, cores);
  auto policy = shm::WaitPolicy::for_waiters(waiters, cores);
  // The members of a small set may have a core each while the other ranks sleep. A short spin finds a partner that is running, and
  // costs no more than a switch of processes where it is not.
  constexpr std::chrono::microseconds short_spin{5};
  if (members != 0 && members <= cores) policy.spin = std::max(policy.spin, short_spin);
  return policy;
}

}  // namespace weft::client
