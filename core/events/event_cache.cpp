// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/event_cache.hpp"

#include <algorithm>
#include <ctime>

#include "core/data/names/directive.hpp"
#include "core/events/range.hpp"

namespace weft::events {
namespace {

/// The size that the cache counts for an event: the bytes of a message with its infos, and the event's own.
std::size_t bytes_of(const Event& event) {
  if (event.wire_bytes != 0) return sizeof(Event) + event.wire_bytes;
  data::Writer infos;
  (void)data::encode_infos(infos, event.infos.data(), event.infos.size());
  return sizeof(Event) + infos.size();
}

}  // namespace

void stamp(Event& event) {
  if (event.infos.find(PMIX_EVENT_TIMESTAMP) != nullptr) return;
  pmix_value_t now{};
  now.type = PMIX_TIME;
  now.data.time = std::time(nullptr);
  event.infos.add(PMIX_EVENT_TIMESTAMP, data::Value::adopt(now));
}

bool may_be_cached(const Event& event) {
  return !data::is_set(event.infos, PMIX_EVENT_DO_NOT_CACHE);
}

bool is_for_default_handlers(const Event& event) {
  return !data::is_set(event.infos, PMIX_EVENT_NON_DEFAULT);
}

bool is_declaration(const Event& event) {
  return event.code == PMIX_MODEL_DECLARED && event.range == PMIX_RANGE_PROC_LOCAL;
}

bool concerns(const Event& event, std::string_view nspace) {
  if (name_of(event.source) == nspace) return true;
  const auto affected = affected_by(event);
  return std::any_of(affected.begin(), affected.end(), [&](const auto& p) { return name_of(p) == nspace; });
}

std::uint64_t EventCache::add(const EventRef& event) {
  if (!may_be_cached(*event)) return 0;
  if (!is_declaration(*event)) return events_.add(event, bytes_of(*event));
  declarations_.add(event, bytes_of(*event));
  return 0;
}

void EventCache::forget(std::string_view nspace) {
  declarations_.erase_if([&](const EventRef& event) { return concerns(*event, nspace); });
  events_.erase_if([&](const EventRef& event) { return concerns(*event, nspace); });
}

}  // namespace weft::events
