// SPDX-License-Identifier: BSD-3-Clause
// Which processes an event is meant for, and which sources a handler accepts. Pure functions.
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

/// The processes in `value`: a single PMIX_PROC or an array of them. Error: invalid (another type).
Result<std::vector<pmix_proc_t>> procs_in(const pmix_value_t& value);

/// The processes that the event names as affected; empty if it names none.
std::vector<pmix_proc_t> affected_by(const Event& event);

/// True unless the event carries a PMIX_EVENT_CUSTOM_RANGE that excludes `proc`.
bool in_custom_range(const Event& event, const pmix_proc_t& proc);

/// One of the Standard's ranges.
constexpr bool is_range(pmix_data_range_t range) noexcept {
  return range <= PMIX_RANGE_PROC_LOCAL;
}

/// The server's knowledge about a process that may receive an event.
struct Recipient {
  pmix_proc_t proc{};
  bool same_node_as_source = false;
  bool same_session = true;
  bool is_host = false;  ///< a daemon of the host environment
};

/// True if the target range of the event (and its custom range, if it has one) includes the recipient.
bool is_addressed(const Event& event, const Recipient& recipient);

/// The knowledge of a process about itself and others with which it checks the source of an event.
struct Identity {
  pmix_proc_t self{};
  std::function<bool(const pmix_proc_t&)> on_my_node;  ///< empty: every process is
};

/// True if `source` is in the source range that a handler was registered with.
bool is_source_wanted(pmix_data_range_t range, std::span<const pmix_proc_t> custom, const pmix_proc_t& source,
                      const Identity& identity);

}  // namespace weft::events
