// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "core/data/types/value.hpp"
#include "pmix_common.h"

namespace weft::events {

struct Event {
  pmix_status_t code = PMIX_SUCCESS;
  pmix_proc_t source{};  ///< empty namespace and PMIX_RANK_UNDEF: the system itself
  pmix_data_range_t range = PMIX_RANGE_UNDEF;
  data::Infos infos;  ///< as the source of the event gave them, PMIX_EVENT_AFFECTED_PROC(S) included
  /// Number of the server whose host raised the event, by what this library knows of the message; nothing: a
  /// process raised it. Handlers find it under server_attribute. The number is never part of a message.
  std::optional<pmix_rank_t> server = std::nullopt;
  std::size_t wire_bytes = 0;  ///< of the message that brought it; 0: it came in none
};

/// Adds PMIX_EVENT_TIMESTAMP, now, where the event has none.
void stamp(Event& event);

inline constexpr const char* server_attribute = "weft.server";  ///< PMIX_PROC_RANK

}  // namespace weft::events
