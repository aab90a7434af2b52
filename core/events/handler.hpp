// SPDX-License-Identifier: BSD-3-Clause
// One registration of a handler: its directives, and whether it matches an event.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/events/event_cache.hpp"
#include "core/events/range.hpp"

namespace weft::events {

/// Order of the calls: the most specific handlers come first.
enum class Category : std::uint8_t { one_code, several_codes, any_code };

/// Position of a handler in its category; `first` and `last` are before and after all categories.
enum class Position : std::uint8_t { prepend, append, first_in_category, last_in_category, first, last };

struct HandlerSpec {
  pmix_notification_fn_t call = nullptr;
  std::vector<pmix_status_t> codes;  ///< empty: any code
  Category category = Category::any_code;
  Position position = Position::prepend;
  /// before, after: the name of another handler, which need not exist (yet).
  std::string name, before, after;
  pmix_data_range_t source_range = PMIX_RANGE_UNDEF;
  std::optional<std::vector<pmix_proc_t>> custom_range;  ///< the accepted sources, for PMIX_RANGE_CUSTOM
  std::optional<std::vector<pmix_proc_t>> affected;      ///< only events that affect one of these
  std::optional<void*> return_object;
  bool one_shot = false;

  bool matches(const Event& event, const Identity& identity) const;
};

/// Reads the directives of PMIx_Register_event_handler. A boolean directive of type PMIX_UNDEF is true.
/// Errors: invalid (no function, wrong type, directives that exclude each other), not_supported (an unknown
/// attribute that is marked as required).
Result<HandlerSpec> read_spec(std::span<const pmix_status_t> codes, std::span<const pmix_info_t> infos,
                              pmix_notification_fn_t call);

/// A registered handler. Guarded by the mutex of the registry, except for `id` and `spec`, which are const.
struct Handler {
  Handler(std::size_t number, HandlerSpec wanted) : id(number), spec(std::move(wanted)) {}
  const std::size_t id;
  const HandlerSpec spec;
  bool live = false;  ///< may be called: its registration was confirmed, and it was not removed
  /// While it is given cached events: those, then what has come meanwhile.
  bool is_catching_up = false;
  std::deque<std::pair<std::uint64_t, EventRef>> backlog;  ///< each with its number in the cache
  std::vector<std::thread::id> calls;                      ///< threads that are inside the function now
  std::size_t calls_of_remover = 0;                        ///< calls that cannot end before remove() returns
  std::function<void()> when_drained;                      ///< set by remove() if other threads are inside
};

}  // namespace weft::events
