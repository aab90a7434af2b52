// SPDX-License-Identifier: BSD-3-Clause
// The latest events of this process, for handlers that are registered later. Not thread-safe.
#pragma once

#include <memory>
#include <string_view>

#include "core/events/event.hpp"
#include "core/events/recent.hpp"

namespace weft::events {

using EventRef = std::shared_ptr<const Event>;

/// PMIX_EVENT_DO_NOT_CACHE: its source wants only handlers that are registered by now to have it.
bool may_be_cached(const Event& event);

/// PMIX_EVENT_NON_DEFAULT: handlers that named no code do not hear it.
bool is_for_default_handlers(const Event& event);

/// The event comes from that namespace, or affects a process of it.
bool concerns(const Event& event, std::string_view nspace);

/// A programming model of this process has declared itself: no newer event and no handler takes that away.
bool is_declaration(const Event& event);

class EventCache {
 public:
  explicit EventCache(RecentBounds bounds = {}) noexcept : events_(bounds) {}

  /// Returns the number by which the event can be erased; 0: it cannot be, because it is not kept or is a
  /// declaration.
  std::uint64_t add(const EventRef& event);
  /// Calls see(number, const EventRef&) for each: declarations, then the others, oldest first.
  template <class See>
  void each(See&& see) const {
    declarations_.each([&](std::uint64_t, const EventRef& event) { see(std::uint64_t{0}, event); });
    events_.each(see);
  }
  void erase(std::uint64_t number) { events_.erase(number); }
  /// Drops events that concern a namespace that has ended.
  void forget(std::string_view nspace);

  std::size_t size() const noexcept { return declarations_.size() + events_.size(); }
  std::uint64_t dropped() const noexcept { return declarations_.dropped() + events_.dropped(); }

 private:
  /// More models than that in one process are a program in error: the oldest go.
  Recent<EventRef> declarations_{{.items = 64, .bytes = std::size_t{1} << 16}};
  Recent<EventRef> events_;
};

}  // namespace weft::events
