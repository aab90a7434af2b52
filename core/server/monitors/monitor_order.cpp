// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/monitors/monitor_order.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "core/data/names/call_attributes.hpp"
#include "core/data/names/deadline.hpp"
#include "core/events/range.hpp"

namespace weft::server {
namespace {

/// NULL counts as the empty text.
bool read_text(const pmix_value_t& value, std::string& out) {
  if (value.type != PMIX_STRING) return false;
  out = value.data.string == nullptr ? "" : value.data.string;
  return out.size() <= MonitorOrder::most_text;
}

/// The number under the key; what was there stays where there is none. False: it is no number of 32 bits.
bool read_count(const data::Infos& infos, const char* key, std::uint32_t& out) {
  const auto* info = infos.find(key);
  if (info == nullptr) return true;
  const auto number = data::as_unsigned(info->value);
  if (!number || *number > UINT32_MAX) return false;
  out = static_cast<std::uint32_t>(*number);
  return true;
}

bool read_pace(const data::Infos& infos, const char* time_key, const char* drops_key, MonitorOrder& out) {
  auto seconds = static_cast<std::uint32_t>(out.time.count());
  const bool is_good = read_count(infos, time_key, seconds) && read_count(infos, drops_key, out.drops);
  out.time = std::min(std::chrono::seconds(seconds), data::longest_timeout);
  return is_good && seconds != 0;
}

/// Observed: the headers of 4.2 give some of these keys a bool and others a text, and callers write either.
bool is_watched(const data::Infos& infos, const char* key) {
  const auto* info = infos.find(key);
  return info != nullptr && (info->value.type != PMIX_BOOL || info->value.data.flag);
}

bool read_file(const link::Monitor& message, MonitorOrder& out) {
  if (!read_text(message.monitor.data()->value, out.path) || !out.path.starts_with('/')) return false;
  out.watches_size = is_watched(message.directives, PMIX_MONITOR_FILE_SIZE);
  out.watches_access = is_watched(message.directives, PMIX_MONITOR_FILE_ACCESS);
  out.watches_modify = is_watched(message.directives, PMIX_MONITOR_FILE_MODIFY);
  if (!out.watches_size && !out.watches_access && !out.watches_modify)
    out.watches_size = out.watches_access = out.watches_modify = true;
  return read_pace(message.directives, PMIX_MONITOR_FILE_CHECK_TIME, PMIX_MONITOR_FILE_DROPS, out);
}

/// Of a cancel: NULL may be written in several types.
bool read_canceled(const pmix_value_t& value, MonitorOrder& out) {
  return value.type == PMIX_UNDEF || value.type == PMIX_POINTER || value.type == PMIX_BOOL ||
         read_text(value, out.id);
}

bool read_event(const link::Monitor& message, MonitorOrder& out) {
  const auto* id = message.directives.find(PMIX_MONITOR_ID);
  if (id != nullptr && !read_text(id->value, out.id)) return false;
  if (const auto* range = message.directives.find(PMIX_RANGE)) {
    if (range->value.type != PMIX_DATA_RANGE) return false;
    out.range = range->value.data.range;
  }
  const auto usual =
      out.kind == MonitorOrder::Kind::file ? PMIX_MONITOR_FILE_ALERT : PMIX_MONITOR_HEARTBEAT_ALERT;
  out.code = message.code == PMIX_SUCCESS ? usual : message.code;
  return events::is_range(out.range) && out.range != PMIX_RANGE_CUSTOM && out.range != PMIX_RANGE_PROC_LOCAL;
}

bool kind_of(std::string_view key, MonitorOrder::Kind& out) {
  constexpr std::array<std::pair<const char*, MonitorOrder::Kind>, 4> kinds{
      {{PMIX_MONITOR_HEARTBEAT, MonitorOrder::Kind::heartbeat},
       {PMIX_MONITOR_FILE, MonitorOrder::Kind::file},
       {PMIX_MONITOR_CANCEL, MonitorOrder::Kind::cancel},
       {PMIX_SEND_HEARTBEAT, MonitorOrder::Kind::beat}}};
  const auto* found =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return key == kind.first; });
  if (found == kinds.end()) return false;
  out = found->second;
  return true;
}

std::int64_t nanoseconds(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

pmix_status_t MonitorOrder::read(const link::Monitor& message, MonitorOrder& out) {
  if (message.monitor.size() != 1) return PMIX_ERR_BAD_PARAM;
  const auto& monitor = message.monitor.data()[0];
  const auto& directives = message.directives;
  if (!kind_of(data::key_of(monitor), out.kind) ||
      data::first_not_understood("PMIx_Process_monitor", directives.data(), directives.size()) != nullptr)
    return PMIX_ERR_NOT_SUPPORTED;
  if (out.kind == MonitorOrder::Kind::beat) return PMIX_SUCCESS;
  if (out.kind == MonitorOrder::Kind::cancel)
    return read_canceled(monitor.value, out) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  const bool has_pace =
      out.kind == MonitorOrder::Kind::file
          ? read_file(message, out)
          : read_pace(directives, PMIX_MONITOR_HEARTBEAT_TIME, PMIX_MONITOR_HEARTBEAT_DROPS, out);
  return has_pace && read_event(message, out) ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

FileState FileState::of(const std::string& path) noexcept {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {};
  return {found.st_size, nanoseconds(found.st_atim), nanoseconds(found.st_mtim)};
}

bool FileState::is_sign_since(const FileState& before, const MonitorOrder& order) const noexcept {
  return (order.watches_size && size > before.size) ||
         (order.watches_access && accessed != 0 && accessed != before.accessed) ||
         (order.watches_modify && modified != 0 && modified != before.modified);
}

}  // namespace weft::server
