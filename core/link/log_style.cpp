// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/log_style.hpp"

#include <syslog.h>

#include "core/data/types/value.hpp"
#include "pmix.h"

namespace weft::link {
namespace {

std::string text_of_time(std::time_t time) {
  std::tm parts{};
  char text[64] = {};
  if (::localtime_r(&time, &parts) != nullptr)
    (void)std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts);
  return text;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

}  // namespace

LogStyle LogStyle::of(const pmix_info_t* directives, std::size_t count) {
  LogStyle style;
  style.priority = LOG_ERR;
  bool is_timed = false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = data::key_of(directives[i]);
    const auto& value = directives[i].value;
    if (key == PMIX_LOG_TIMESTAMP && value.type == PMIX_TIME) style.time = value.data.time;
    if (key == PMIX_LOG_SYSLOG_PRI && value.type == PMIX_INT) style.priority = value.data.integer;
    if (!data::is_true(value)) continue;
    style.once |= key == PMIX_LOG_ONCE;
    style.tagged |= key == PMIX_LOG_TAG_OUTPUT;
    style.xml |= key == PMIX_LOG_XML_OUTPUT;
    is_timed |= key == PMIX_LOG_TIMESTAMP_OUTPUT || key == PMIX_LOG_GENERATE_TIMESTAMP;
  }
  if (is_timed && !style.time) style.time = std::time(nullptr);
  return style;
}

bool LogStyle::is_valid() const noexcept {
  return (priority & ~LOG_PRIMASK) == 0;
}

std::string LogStyle::styled(const char* channel, std::string_view text) const {
  const auto when = time ? text_of_time(*time) : std::string();
  if (xml)
    return std::string("<") + channel + (when.empty() ? "" : " timestamp=\"" + when + "\"") + ">" +
           escaped(text) + "</" + channel + ">\n";
  std::string out = when.empty() ? "" : when + " ";
  if (tagged) out += std::string(channel) + ": ";
  return out.append(text);
}

}  // namespace weft::link
