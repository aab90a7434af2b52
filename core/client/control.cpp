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
  return remote ? shm::WaitPolicy::for_other_nodes(waiters + 1, cores)
                : shm::WaitPolicy::for_waiters(waiters, cores);
}

}  // namespace weft::client
