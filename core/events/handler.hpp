// SPDX-License-Identifier: BSD-3-Clause
// One registration: what the caller asked for, and whether it matches an event.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/events/range.hpp"

namespace weft::events {

/// Order of service: the most specific handlers come first.
enum class Category : std::uint8_t { one_code, several_codes, any_code };

/// Where a handler goes in its category; `first` and `last` are before and after all categories.
enum class Place : std::uint8_t { prepend, append, first_in_category, last_in_category, first, last };

struct HandlerSpec {
  pmix_notification_fn_t call = nullptr;
  std::vector<pmix_status_t> codes;  ///< empty: any code
  Category category = Category::any_code;
  Place place = Place::prepend;
  std::string name, before, after;  ///< before, after: the name of another handler; may not exist (yet)
  pmix_data_range_t source_range = PMIX_RANGE_UNDEF;
  std::optional<std::vector<pmix_proc_t>> custom_range;  ///< the sources that count, for PMIX_RANGE_CUSTOM
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

/// A spec with its registration's life. Guarded by the registry's mutex, except for `id` and `spec`, which
/// are const.
struct Handler {
  Handler(std::size_t number, HandlerSpec wanted) : id(number), spec(std::move(wanted)) {}
  const std::size_t id;
  const HandlerSpec spec;
  bool live = false;  ///< may be called: its registration was confirmed, and it was not removed
  std::vector<std::thread::id> calls;  ///< threads inside the function now
  std::size_t calls_of_remover = 0;    ///< calls that cannot end before remove() returns
  std::function<void()> when_drained;  ///< set by remove() while other threads are inside
};

}  // namespace weft::events
