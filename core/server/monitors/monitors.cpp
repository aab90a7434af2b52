// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/monitors/monitors.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace weft::server {

void Monitors::monitor(const Requester& from, const link::Monitor& message) {
  MonitorOrder order;
  auto status = MonitorOrder::read(message, order);
  if (status == PMIX_SUCCESS) switch (order.kind) {
      case MonitorOrder::Kind::beat:
        beat(from.connection);
        break;
      case MonitorOrder::Kind::cancel:
        status = cancel(from.connection, order.id);
        break;
      case MonitorOrder::Kind::heartbeat:
      case MonitorOrder::Kind::file:
        status = add(from.connection, std::move(order));
        break;
    }
  from.answer({status, {}, {}});
}

pmix_status_t Monitors::add(const ConnectionRef& by, MonitorOrder order) {
  if (order.kind == MonitorOrder::Kind::file && by->uid != ::geteuid()) return PMIX_ERR_NO_PERMISSIONS;
  const auto others = std::count_if(monitors_.begin(), monitors_.end(),
                                    [&](const auto& entry) { return entry.second.by == by; });
  if (static_cast<std::size_t>(others) >= most_of_a_process) return PMIX_ERR_OUT_OF_RESOURCE;
  const auto number = ++last_number_;
  const auto drops = order.drops;
  auto& made =
      monitors_.emplace(number, Monitor{by, std::move(order), Misses(drops), loop_.now()}).first->second;
  if (made.order.kind == MonitorOrder::Kind::file) look(number, made);
  wait(number, made);
  return PMIX_SUCCESS;
}

pmix_status_t Monitors::cancel(const ConnectionRef& by, const std::string& id) {
  const auto ended = std::erase_if(monitors_, [&](const auto& entry) {
    return entry.second.by == by && (id.empty() || entry.second.order.id == id);
  });
  return ended == 0 && !id.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

void Monitors::closed(const ConnectionRef& connection) {
  (void)cancel(connection, {});
}

void Monitors::beat(const ConnectionRef& by) {
  for (auto& [number, monitor] : monitors_) {
    if (monitor.by != by || monitor.order.kind != MonitorOrder::Kind::heartbeat) continue;
    monitor.misses.take_sign();
    monitor.since = loop_.now();
  }
}

/// A heartbeat moves the time that the timer was set for: the timer that is early is set again.
void Monitors::wait(std::uint64_t number, Monitor& monitor) {
  monitor.timer = std::make_unique<Timer>(loop_, monitor.since + monitor.order.time,
                                          [this, number] { time_is_over(number); });
}

void Monitors::time_is_over(std::uint64_t number) {
  auto& monitor = monitors_.at(number);  // it owns the timer
  if (monitor.order.kind == MonitorOrder::Kind::file) return look(number, monitor);
  if (loop_.now() >= monitor.since + monitor.order.time) miss(monitor);
  wait(number, monitor);
}

/// Without a thread the file is not looked at, and nothing is said of it.
void Monitors::look(std::uint64_t number, const Monitor& monitor) {
  (void)files_.run([path = monitor.order.path] { return FileState::of(path); },
                   [this, number](const FileState& now) { take_look(number, now); });
}

/// The monitor may have ended meanwhile. The next look waits for this one: a file system that hangs is not
/// asked again, and what it does not say counts for nothing.
void Monitors::take_look(std::uint64_t number, const FileState& now) {
  const auto found = monitors_.find(number);
  if (found == monitors_.end()) return;
  auto& monitor = found->second;
  const auto before = std::exchange(monitor.last_seen, now);
  if (!before) return;  // the first look
  if (now.is_sign_since(*before, monitor.order)) {
    monitor.misses.take_sign();
    monitor.since = loop_.now();
  } else {
    miss(monitor);
  }
  wait(number, monitor);
}

void Monitors::miss(Monitor& monitor) {
  monitor.since = loop_.now();
  if (monitor.misses.miss() && !monitor.by->finalized) raise(monitor);
}

void Monitors::raise(const Monitor& monitor) {
  const auto& order = monitor.order;
  events::Event event{order.code, monitor.by->proc, order.range, {}};
  event.infos.add(PMIX_EVENT_AFFECTED_PROC, data::Value::of_proc(monitor.by->proc));
  event.infos.add(PMIX_EVENT_NON_DEFAULT, data::Value::of(true));
  if (!order.id.empty()) event.infos.add(PMIX_MONITOR_ID, data::Value::of(order.id));
  if (order.kind == MonitorOrder::Kind::file)
    event.infos.add(PMIX_MONITOR_FILE, data::Value::of(order.path));
  else
    event.infos.add(PMIX_MONITOR_HEARTBEAT_DROPS, data::Value::of(monitor.misses.count()));
  events_.raise(std::move(event));
}

}  // namespace weft::server
