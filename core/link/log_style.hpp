// SPDX-License-Identifier: BSD-3-Clause
// How a record of PMIx_Log is printed, by the call's directives: by the caller's library, and by a server.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

#include "pmix_common.h"

namespace weft::link {

struct LogStyle {
  bool once = false, tagged = false, xml = false;
  int priority = 0;                 ///< in a syslog
  std::optional<std::time_t> time;  ///< to be printed

  static LogStyle of(const pmix_info_t* directives, std::size_t count);
  /// The syslog has such a priority.
  bool is_valid() const noexcept;
  /// The record as it is printed. channel: its name.
  std::string styled(const char* channel, std::string_view text) const;
};

}  // namespace weft::link
