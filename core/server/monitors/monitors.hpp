// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Process_monitor and PMIx_Heartbeat where the host does not offer them: each monitor is at the server
// of the process that has asked for it, watches that process or a file of its node, and goes with it.
// The loop's thread only.
//
// Time      A heartbeat or a change of the file is due every `time`, counted from the last one. Each that is
//           missed counts; the one beyond `drops` raises the event, once until the next sign of life.
// Event     Its source and PMIX_EVENT_AFFECTED_PROC are the process that has asked. Default handlers do not
//           hear it: which may end processes that know of no monitor.
// Files     are looked at on a thread of their own, with the server's rights: so for its own user alone.
// Source: PMIx Standard, chapter "Job Management and Reporting", "Process and Job Monitoring".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "core/server/connections/requester.hpp"
#include "core/server/events/event_relay.hpp"
#include "core/server/loop/off_loop.hpp"
#include "core/server/monitors/monitor_order.hpp"

namespace weft::server {

class Monitors {
 public:
  /// Of one process.
  static constexpr std::size_t most_of_a_process = 64;

  Monitors(Loop& loop, EventRelay& events) : loop_(loop), events_(events), files_(loop, "weft-files") {}
  Monitors(const Monitors&) = delete;
  Monitors& operator=(const Monitors&) = delete;

  void monitor(const Requester& from, const link::Monitor& message);
  /// The connection of a client or tool is closed: its monitors end.
  void closed(const ConnectionRef& connection);
  std::size_t count() const noexcept { return monitors_.size(); }

 private:
  struct Monitor {
    ConnectionRef by;
    MonitorOrder order;
    Misses misses;
    Loop::TimePoint since;                 ///< the last sign of life, or the last miss
    std::optional<FileState> last_seen{};  ///< nothing: the file has not been looked at
    std::unique_ptr<Timer> timer{};
  };

  pmix_status_t add(const ConnectionRef& by, MonitorOrder order);
  pmix_status_t cancel(const ConnectionRef& by, const std::string& id);
  void beat(const ConnectionRef& by);
  void wait(std::uint64_t number, Monitor& monitor);
  void time_is_over(std::uint64_t number);
  void look(std::uint64_t number, const Monitor& monitor);
  void take_look(std::uint64_t number, const FileState& now);
  void miss(Monitor& monitor);
  void raise(const Monitor& monitor);

  Loop& loop_;
  EventRelay& events_;
  std::map<std::uint64_t, Monitor> monitors_;
  std::uint64_t last_number_ = 0;
  OffLoop files_;
};

}  // namespace weft::server
