// SPDX-License-Identifier: BSD-3-Clause
// Events between this process and one server: the codes that it has asked for there, and the events that it
// raises. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "core/client/connection/connection.hpp"
#include "core/events/registry.hpp"

namespace weft::client {

class ServerEvents {
 public:
  /// The connection's thread calls this object: it goes after the connection has stopped.
  ServerEvents(Connection& connection, events::Registry& handlers) noexcept
      : connection_(connection), handlers_(handlers) {}

  using Done = std::function<void(pmix_status_t)>;
  /// done(status), on the thread, once the server sends events of these codes; none: all. For a handler,
  /// once.
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done);
  /// The handler is no more, however its subscription ended: the server hears what no other handler wants. A
  /// handler that is not known here has no effect.
  void unsubscribe(std::size_t handler);
  /// Handlers of this process hear it by the thread, but for PMIX_RANGE_RM, which is for the host alone.
  void notify(events::Event event, Done done);
  /// The same of an event that stays in this process, whatever its range.
  void notify_here(events::Event event, Done done);
  /// Delivers the event of a frame of type event.
  void deliver(const link::Frame& frame);
  /// The handlers decide something for the server: their verdict goes there when the last has ended.
  void answer(const link::Frame& frame);

 private:
  /// How many handlers want a code, or all; and whether the server has said that it sends them.
  struct Interest {
    std::size_t handlers = 0;
    bool is_confirmed = false;
  };
  bool add(std::size_t handler, const std::vector<pmix_status_t>& codes);
  std::optional<std::vector<pmix_status_t>> remove(std::size_t handler);
  void confirm(const std::vector<pmix_status_t>& codes);

  Connection& connection_;
  events::Registry& handlers_;
  std::mutex
      sending_;  ///< what changes and the message that says so: messages leave in the order of the changes
  std::mutex mutex_;  // guards all below
  std::map<std::size_t, std::vector<pmix_status_t>> codes_of_;
  std::map<pmix_status_t, Interest> by_code_;
  Interest in_all_;
};

}  // namespace weft::client
