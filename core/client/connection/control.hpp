// SPDX-License-Identifier: BSD-3-Clause
// A client's way to its server without a message: where it writes in the segment besides its card and its
// boards.
#pragma once

#include <atomic>
#include <mutex>

#include "core/client/connection/connection.hpp"
#include "core/store/segment/layout.hpp"

namespace weft::client {

struct Control {
  shm::NoticeRing* ring = nullptr;
  store::FetchCell* fetch = nullptr;
  store::StartCell* start = nullptr;            ///< null: no launcher accounts for the start
  store::TraceLog trace;                        ///< empty: no launcher traces the job
  std::atomic<std::uint64_t>* dirty = nullptr;  ///< the word that holds this client's bit
  std::uint64_t dirty_bit = 0;
  shm::Doorbell* doorbell = nullptr;
  Connection* connection = nullptr;

  /// Any thread. A full ring drops the kind but not the bit: the server then looks at all that this client
  /// has.
  void notify(store::NoticeKind kind, std::uint32_t arg) noexcept;

  std::mutex fetch_mutex;  ///< one request at a time (FetchCell I1)
  std::mutex ring_mutex;   ///< the ring has one writer (NoticeRing I1); the client's threads take turns
};

}  // namespace weft::client
