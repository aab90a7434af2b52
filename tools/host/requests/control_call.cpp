// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/requests/control_call.hpp"

#include <pmix.h>

#include <csignal>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "tools/host/requests/process_names.hpp"

namespace weft::host {
namespace {

using What = job::ControlRequest::What;

std::optional<What> what_of(std::string_view key) {
  constexpr std::pair<const char*, What> all[] = {{PMIX_JOB_CTRL_SIGNAL, What::signal},
                                                  {PMIX_JOB_CTRL_PAUSE, What::pause},
                                                  {PMIX_JOB_CTRL_RESUME, What::resume},
                                                  {PMIX_JOB_CTRL_TERMINATE, What::terminate},
                                                  {PMIX_JOB_CTRL_KILL, What::kill}};
  for (const auto& [name, what] : all)
    if (key == name) return what;
  return std::nullopt;
}

/// Said beside an action: names for later calls, of which there are none here.
bool is_beside(std::string_view key) {
  return key == PMIX_JOB_CTRL_ID || key == PMIX_JOB_CTRL_SEP || key == PMIX_USERID || key == PMIX_GRPID ||
         key == PMIX_REQUESTOR_IS_TOOL || key == PMIX_REQUESTOR_IS_CLIENT;
}

/// Nothing: a value of the wrong type. False: not asked for.
std::optional<bool> is_asked(What what, const pmix_value_t& value, std::int32_t& signal) {
  if (what != What::signal) {
    if (value.type == PMIX_UNDEF) return true;
    return value.type == PMIX_BOOL ? std::optional(value.data.flag) : std::nullopt;
  }
  if (value.type != PMIX_INT || value.data.integer <= 0 || value.data.integer >= NSIG) return std::nullopt;
  signal = value.data.integer;
  return true;
}

pmix_status_t read_action(std::span<const pmix_info_t> directives, job::ControlRequest& out) {
  int actions = 0;
  for (const auto& info : directives) {
    const std::string_view key(info.key, ::strnlen(info.key, PMIX_MAX_KEYLEN));
    const auto what = what_of(key);
    if (!what) {
      if (is_beside(key) || !PMIX_INFO_IS_REQUIRED(&info)) continue;
      return PMIX_ERR_NOT_SUPPORTED;
    }
    const auto asked = is_asked(*what, info.value, out.signal);
    if (!asked) return PMIX_ERR_BAD_PARAM;
    if (!*asked) continue;
    out.what = *what;
    ++actions;
  }
  if (actions == 1) return PMIX_SUCCESS;
  return actions == 0 ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_BAD_PARAM;
}

}  // namespace

std::vector<std::string> control_attributes() {
  return {PMIX_JOB_CTRL_SIGNAL, PMIX_JOB_CTRL_PAUSE, PMIX_JOB_CTRL_RESUME, PMIX_JOB_CTRL_TERMINATE,
          PMIX_JOB_CTRL_KILL};
}

pmix_status_t read_control_call(const pmix_proc_t& from, const pmix_proc_t targets[], std::size_t count,
                                const pmix_info_t directives[], std::size_t directives_count,
                                job::ControlRequest& out) {
  out.from = {std::string(from.nspace, ::strnlen(from.nspace, PMIX_MAX_NSLEN)), job::Rank{from.rank}};
  out.targets = targets_of({targets, targets == nullptr ? 0 : count});
  if (out.targets.empty()) out.targets.push_back({out.from.nspace, {}});
  return read_action({directives, directives == nullptr ? 0 : directives_count}, out);
}

}  // namespace weft::host
