// SPDX-License-Identifier: BSD-3-Clause
// Events that have matched no handler yet, oldest first, at most `capacity` of them. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "core/events/event.hpp"

namespace weft::events {

class EventCache {
 public:
  explicit EventCache(std::size_t capacity) noexcept : capacity_(capacity) {}

  /// Adds an event, and drops the oldest if the cache is full. An event with PMIX_EVENT_DO_NOT_CACHE is not
  /// kept.
  void add(Event event);

  /// Removes and returns the oldest event that `wanted(const Event&)` accepts.
  template <class Wanted>
  std::optional<Event> take(Wanted&& wanted) {
    const auto at = std::find_if(events_.begin(), events_.end(), wanted);
    if (at == events_.end()) return std::nullopt;
    std::optional<Event> found(std::move(*at));
    events_.erase(at);
    return found;
  }

  /// Drops events that come from a namespace that has ended, or affect a process of it.
  void forget(std::string_view nspace);

  std::size_t size() const noexcept { return events_.size(); }
  std::uint64_t dropped() const noexcept { return dropped_; }  ///< for lack of room

 private:
  const std::size_t capacity_;
  std::deque<Event> events_;
  std::uint64_t dropped_ = 0;
};

}  // namespace weft::events
