// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/tool/server_wish.hpp"

#include <algorithm>

#include "core/data/names/deadline.hpp"
#include "core/data/types/value.hpp"

namespace weft::client {
namespace {

constexpr std::uint32_t longest_pause = 3600;

pmix_status_t read_text(const pmix_value_t& value, std::string& out) {
  if (value.type != PMIX_STRING || value.data.string == nullptr || *value.data.string == '\0')
    return PMIX_ERR_BAD_PARAM;
  out = value.data.string;
  return PMIX_SUCCESS;
}

pmix_status_t read_number(const pmix_value_t& value, std::uint32_t most, std::uint32_t& out) {
  const auto number = data::as_unsigned(value);
  if (!number) return PMIX_ERR_BAD_PARAM;
  out = static_cast<std::uint32_t>(std::min<std::uint64_t>(*number, most));
  return PMIX_SUCCESS;
}

bool has(const pmix_info_t* infos, std::size_t count, std::string_view key) {
  return std::any_of(infos, infos + count,
                     [&](const pmix_info_t& info) { return data::key_of(info) == key; });
}

}  // namespace

pmix_status_t ServerWish::read(const pmix_info_t* infos, std::size_t count) {
  if (has(infos, count, PMIX_SERVER_URI) && has(infos, count, PMIX_TCP_URI)) return PMIX_ERR_BAD_PARAM;
  for (std::size_t i = 0; i < count; ++i)
    if (const auto status = read_one(infos[i]); status != PMIX_SUCCESS) return status;
  return PMIX_SUCCESS;
}

pmix_status_t ServerWish::read_one(const pmix_info_t& info) {
  const auto key = data::key_of(info);
  const auto& value = info.value;
  if (key == PMIX_TOOL_ATTACHMENT_FILE) return read_text(value, file);
  if (key == PMIX_SERVER_URI) return read_text(value, uri);
  if (key == PMIX_TCP_URI) return PMIX_ERR_NOT_SUPPORTED;
  if (key == PMIX_SERVER_PIDINFO) {
    if (value.type != PMIX_PID || value.data.pid <= 0) return PMIX_ERR_BAD_PARAM;
    pid = value.data.pid;
  } else if (key == PMIX_SERVER_NSPACE) {
    return read_text(value, nspace);
  } else if (key == PMIX_CONNECT_TO_SYSTEM) {
    only_system = data::is_true(value);
  } else if (key == PMIX_CONNECT_SYSTEM_FIRST) {
    system_first = data::is_true(value);
  } else if (key == PMIX_CONNECT_TO_SCHEDULER || key == PMIX_CONNECT_TO_SYS_CONTROLLER) {
    return data::is_true(value) ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
  } else if (key == PMIX_TOOL_DO_NOT_CONNECT) {
    connects = !data::is_true(value);
  } else if (key == PMIX_TOOL_CONNECT_OPTIONAL) {
    is_optional = data::is_true(value);
  } else if (key == PMIX_PRIMARY_SERVER) {
    becomes_primary = data::is_true(value);
  } else if (key == PMIX_CONNECT_MAX_RETRIES) {
    return read_number(value, UINT32_MAX, retries);
  } else if (key == PMIX_CONNECT_RETRY_DELAY) {
    std::uint32_t seconds = 0;
    const auto status = read_number(value, longest_pause, seconds);
    pause = std::chrono::seconds(seconds);
    return status;
  } else if (key == PMIX_TIMEOUT) {
    const auto read = data::timeout_of(value);
    if (!read) return PMIX_ERR_BAD_PARAM;
    timeout = *read ? std::optional(std::min(**read, data::longest_timeout)) : std::nullopt;
  }
  return PMIX_SUCCESS;
}

}  // namespace weft::client
