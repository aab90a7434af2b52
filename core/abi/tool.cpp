// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": starting and stopping.
#include "pmix_tool.h"

#include "core/abi/guard.hpp"
#include "core/abi/role.hpp"

using weft::abi::guarded_status;
using weft::abi::roles;

namespace {

/// Errors: PMIX_ERR_BAD_PARAM, PMIX_ERR_NOT_SUPPORTED (a way to a server that is not there yet).
pmix_status_t read_wish(const pmix_info_t* infos, size_t ninfo, weft::client::Tool::Wish& wish) {
  std::string_view nspace;
  for (size_t i = 0; i < ninfo; ++i) {
    const auto key = weft::data::key_of(infos[i]);
    const auto& value = infos[i].value;
    if (key == PMIX_SERVER_PIDINFO) {
      if (value.type != PMIX_PID || value.data.pid <= 0) return PMIX_ERR_BAD_PARAM;
      wish.server = value.data.pid;
    } else if (key == PMIX_TOOL_NSPACE) {
      if (value.type != PMIX_STRING || value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
      nspace = weft::abi::text_of(value.data.string, PMIX_MAX_NSLEN + 1);
      if (nspace.empty() || nspace.size() > PMIX_MAX_NSLEN) return PMIX_ERR_BAD_PARAM;
    } else if (key == PMIX_TOOL_RANK) {
      const auto rank = weft::data::as_unsigned(value);
      if (!rank || *rank > PMIX_RANK_VALID) return PMIX_ERR_BAD_PARAM;
      wish.self.rank = static_cast<pmix_rank_t>(*rank);
    } else if (key == PMIX_TOOL_DO_NOT_CONNECT) {
      wish.connects = !weft::data::is_true(value);
    } else if (key == PMIX_TOOL_CONNECT_OPTIONAL) {
      wish.is_optional = weft::data::is_true(value);
    } else if (key == PMIX_SERVER_URI || key == PMIX_SERVER_NSPACE || key == PMIX_TOOL_ATTACHMENT_FILE ||
               ((key == PMIX_CONNECT_TO_SYSTEM || key == PMIX_CONNECT_TO_SCHEDULER) &&
                weft::data::is_true(value))) {
      return PMIX_ERR_NOT_SUPPORTED;  // it would find another server than the one that was meant
    }
  }
  wish.version = PMIx_Get_version();
  if (!nspace.empty()) wish.self = weft::link::make_proc(nspace, wish.self.rank);
  return PMIX_SUCCESS;
}

}  // namespace

/// PMIx_tool_init: makes this process a tool, a member of no job that may ask a server. Counted: each call needs a
/// PMIx_tool_finalize.
///   proc   written with the own name, unless it is NULL
///   info   PMIX_SERVER_PIDINFO (pid_t): of the server, on this machine; without it, the only one of this user;
///          PMIX_TOOL_DO_NOT_CONNECT, PMIX_TOOL_CONNECT_OPTIONAL (bool); PMIX_TOOL_NSPACE, PMIX_TOOL_RANK: its own name
///   Errors: PMIX_ERR_UNREACH (no such server in this network namespace), _NO_PERMISSIONS (another user's),
///   _NOT_SUPPORTED (it is of another release), _TIMEOUT (it does not answer: is it stopped?),
///   _BAD_PARAM (also: there are several servers, and PMIX_SERVER_PIDINFO names none)
///   Cost: reads /proc/self/net/unix; a connect and a round trip to each server that is tried.
/// Not yet: PMIX_SERVER_URI, PMIX_SERVER_NSPACE, PMIX_TOOL_ATTACHMENT_FILE, PMIX_CONNECT_TO_SYSTEM, _SCHEDULER
/// (PMIX_ERR_NOT_SUPPORTED); being a launcher or a server; PMIx_Fence, _Connect, _Abort and _Put of a tool.
pmix_status_t PMIx_tool_init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
  return weft::abi::guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    const weft::abi::Roles::Changing changing(roles());
    if (roles().tool_count == 0) {
      weft::client::Tool::Wish wish;
      if (const auto status = read_wish(info, ninfo, wish); status != PMIX_SUCCESS) return status;
      auto started = weft::client::Tool::start(wish);
      if (!started.tool) return started.status;
      roles().set_tool(std::move(started.tool));
    }
    ++roles().tool_count;
    if (proc != nullptr) *proc = roles().tool()->self();
    return PMIX_SUCCESS;
  });
}

/// PMIx_tool_finalize: the last one hangs up.
pmix_status_t PMIx_tool_finalize(void) {
  return guarded_status([]() -> pmix_status_t {
    const weft::abi::Roles::Changing changing(roles());
    if (roles().tool_count == 0) return PMIX_ERR_INIT;
    if (--roles().tool_count == 0) roles().set_tool(nullptr);
    return PMIX_SUCCESS;
  });
}

bool PMIx_tool_is_connected(void) {
  const weft::abi::InCall in_call;
  auto* tool = roles().tool();
  return tool != nullptr && tool->is_connected();
}
