// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/loop/loop.hpp"

namespace weft::server {

std::optional<Loop::TimePoint> Loop::next() const noexcept {
  return timers_.empty() ? std::nullopt : std::optional(timers_.begin()->first.first);
}

Loop::Key Loop::set(TimePoint when, std::function<void()> then) {
  const Key key{when, next_number_++};
  timers_.emplace(key, std::move(then));
  arm();
  return key;
}

void Loop::run_due() {
  const auto due = now();
  const auto set_before = next_number_;
  while (!timers_.empty()) {
    const auto& [when, number] = timers_.begin()->first;
    if (when > due || number >= set_before) break;
    const auto timer = timers_.extract(timers_.begin());
    timer.mapped()();
  }
  arm();
}

/// The alarm of a timer that has ended meanwhile stays: it finds nothing due.
void Loop::arm() {
  if (now_ != nullptr || timers_.empty()) return;
  const auto when = timers_.begin()->first.first;
  if (when >= alarm_at_) return;
  alarm_at_ = when;
  alarm_.expires_at(when);
  alarm_.async_wait([this](const std::error_code& error) {
    if (error) return;
    alarm_at_ = TimePoint::max();
    run_due();
  });
}

}  // namespace weft::server
