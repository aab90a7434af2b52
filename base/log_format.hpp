// SPDX-License-Identifier: BSD-3-Clause
// base::log with a format string: base::warn(base::LogPart::mesh, "node {} is lost", name).
// A target that includes it links weft_fmt.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "base/log.hpp"

namespace weft::base {

/// Formats only what will be written.
template <class... Args>
void log(LogLevel level, LogPart part, fmt::format_string<Args...> format, Args&&... args) {
  if (is_logged(level, part))
    log(level, part, std::string_view(fmt::format(format, std::forward<Args>(args)...)));
}
template <class... Args>
void error(LogPart part, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, part, format, std::forward<Args>(args)...);
}
template <class... Args>
void warn(LogPart part, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warn, part, format, std::forward<Args>(args)...);
}
template <class... Args>
void info(LogPart part, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, part, format, std::forward<Args>(args)...);
}
template <class... Args>
void debug(LogPart part, fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, part, format, std::forward<Args>(args)...);
}

}  // namespace weft::base
