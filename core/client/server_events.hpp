// SPDX-License-Identifier: BSD-3-Clause
// Events between this process and one server: the codes that it has asked for there, and the events that it raises. Any thread.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <vector>

#include "core/client/connection.hpp"
#include "core/events/registry.hpp"

namespace weft::client {

class ServerEvents {
 public:
  /// The connection's thread calls this object: it goes after the connection has stopped.
  ServerEvents(Connection& connection, events::Registry& handlers) noexcept
      : connection_(connection), handlers_(handlers) {}

  using Done = std::function<void(pmix_status_t)>;
  /// done(status), on the thread, once the server sends events of these codes; none: all.
  void subscribe(std::vector<pmix_status_t> codes, Done done);
  /// Handlers of this process hear it by the thread, but for PMIX_RANGE_RM, which is for the host alone.
  void notify(events::Event event, Done done);
  /// The same of an event that stays in this process, whatever its range.
  void notify_here(events::Event event, Done done);
  /// Of a frame of type event.
  void deliver(const link::Frame& frame);

 private:
  bool has_subscribed(const std::vector<pmix_status_t>& codes);

  Connection& connection_;
  events::Registry& handlers_;
  std::mutex mutex_;
  std::set<pmix_status_t> subscribed_;
  bool subscribed_all_ = false;
};

}  // namespace weft::client
