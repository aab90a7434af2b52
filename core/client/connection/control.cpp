// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/connection/control.hpp"

namespace weft::client {

void Control::notify(store::NoticeKind kind, std::uint32_t arg) noexcept {
  {
    const std::lock_guard lock(ring_mutex);
    (void)ring->push({static_cast<std::uint32_t>(kind), arg});
  }
  dirty->fetch_or(dirty_bit, std::memory_order_release);
  if (doorbell->ring()) (void)connection->send(link::MessageType::nudge, {});
}

}  // namespace weft::client
