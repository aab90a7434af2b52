// SPDX-License-Identifier: BSD-3-Clause
// Who an event is meant for, and whose events a handler wants to see. Pure functions.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "core/events/event.hpp"

namespace weft::events {

std::string_view name_of(const pmix_proc_t& proc) noexcept;

/// Same namespace, and the same rank or one of them is PMIX_RANK_WILDCARD.
bool covers(const pmix_proc_t& pattern, const pmix_proc_t& proc) noexcept;
bool covers(std::span<const pmix_proc_t> patterns, const pmix_proc_t& proc) noexcept;

/// The processes in `value`: one (PMIX_PROC) or many (an array of PMIX_PROC). Error: invalid (another type).
Result<std::vector<pmix_proc_t>> procs_in(const pmix_value_t& value);

/// The processes that the event says it affected; empty if it says nothing.
std::vector<pmix_proc_t> affected_by(const Event& event);

/// True unless the event carries a PMIX_EVENT_CUSTOM_RANGE that leaves `proc` out.
bool in_custom_range(const Event& event, const pmix_proc_t& proc);

/// What the sender of an event has to know about a process that may get it.
struct Recipient {
  pmix_proc_t proc{};
  bool same_node_as_source = false;
  bool same_session = true;
  bool is_host = false;  ///< the host environment's own daemon
};

/// Does the event's target range (and its custom range, if it has one) include `who`?
bool is_addressed(const Event& event, const Recipient& who);

/// What a process knows about itself and others when it looks at an event's source.
struct Identity {
  pmix_proc_t self{};
  std::function<bool(const pmix_proc_t&)> on_my_node;  ///< empty: everybody is
};

/// Is `source` in the source range that a handler was registered with?
bool is_source_wanted(pmix_data_range_t range, std::span<const pmix_proc_t> custom, const pmix_proc_t& source,
                      const Identity& identity);

}  // namespace weft::events
