// SPDX-License-Identifier: BSD-3-Clause
#include "core/events/event_cache.hpp"

#include "core/events/range.hpp"

namespace weft::events {

void EventCache::add(Event event) {
  const pmix_info_t* const opt_out = event.infos.find(PMIX_EVENT_DO_NOT_CACHE);
  if (capacity_ == 0 || (opt_out != nullptr && data::is_true(opt_out->value))) return;
  if (events_.size() == capacity_) {
    events_.pop_front();
    ++dropped_;
  }
  events_.push_back(std::move(event));
}

void EventCache::forget(std::string_view nspace) {
  std::erase_if(events_, [&](const Event& event) {
    if (name_of(event.source) == nspace) return true;
    const auto affected = affected_by(event);
    return std::any_of(affected.begin(), affected.end(), [&](const auto& p) { return name_of(p) == nspace; });
  });
}

}  // namespace weft::events
