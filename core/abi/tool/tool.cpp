// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": starting and stopping.
#include "pmix_tool.h"

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/progress.hpp"
#include "core/abi/roles/role.hpp"
#include "core/abi/tool/tool_server.hpp"

using weft::abi::guarded_directives;
using weft::abi::guarded_status;
using weft::abi::roles;
using weft::client::ServerWish;

namespace {

/// PMIX_TOOL_NSPACE and PMIX_TOOL_RANK; without the former no name is brought. PMIX_ERR_BAD_PARAM.
pmix_status_t read_name(const pmix_info_t* infos, size_t ninfo, pmix_proc_t& name) {
  std::string_view nspace;
  pmix_rank_t rank_read = 0;
  for (size_t i = 0; i < ninfo; ++i) {
    const auto key = weft::data::key_of(infos[i]);
    const auto& value = infos[i].value;
    if (key == PMIX_TOOL_NSPACE) {
      if (value.type != PMIX_STRING || value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
      nspace = weft::abi::text_of(value.data.string, PMIX_MAX_NSLEN + 1);
      if (nspace.empty() || nspace.size() > PMIX_MAX_NSLEN) return PMIX_ERR_BAD_PARAM;
    } else if (key == PMIX_TOOL_RANK) {
      const auto rank = weft::data::as_unsigned(value);
      if (!rank || *rank > PMIX_RANK_VALID) return PMIX_ERR_BAD_PARAM;
      rank_read = static_cast<pmix_rank_t>(*rank);
    }
  }
  if (!nspace.empty()) name = weft::link::make_proc(nspace, rank_read);
  return PMIX_SUCCESS;
}

pmix_status_t start_tool(const ServerWish& wish, const pmix_info_t* infos, size_t ninfo) {
  pmix_proc_t name{};
  if (const auto status = read_name(infos, ninfo, name); status != PMIX_SUCCESS) return status;
  auto started = weft::client::Tool::start(wish, name, PMIx_Get_version());
  if (!started.tool) return started.status;
  if (weft::abi::says_external_progress(infos, ninfo)) started.tool->servers().stop_thread(false);
  roles().set_tool(std::move(started.tool));
  return PMIX_SUCCESS;
}

/// A tool already: it keeps its name, and looks for a server where it has none.
pmix_status_t connect_tool(const ServerWish& wish) {
  auto& tool = *roles().tool();
  if (!wish.connects || tool.servers().is_connected()) return PMIX_SUCCESS;
  pmix_proc_t server{};
  const auto status = tool.servers().attach(wish, server);
  return wish.is_optional ? PMIX_SUCCESS : status;
}

}  // namespace

/// PMIx_tool_init: makes this process a tool, a member of no job that a server lets in. Counted: each call
/// needs a PMIx_tool_finalize; a later call connects a tool that has no server.
///   proc   written with the own name, unless it is NULL
///   info   the server, by the first of these that is given: PMIX_TOOL_ATTACHMENT_FILE (a file that a server
///          has written), PMIX_SERVER_URI, PMIX_SERVER_PIDINFO (pid_t), PMIX_SERVER_NSPACE,
///          PMIX_CONNECT_TO_SYSTEM (bool; of PMIX_SERVER_SYSTEM_SUPPORT), PMIX_CONNECT_SYSTEM_FIRST (bool,
///          then any); else the server that started this process, else the first of this user's that lets it
///          in. PMIX_CONNECT_MAX_RETRIES, PMIX_CONNECT_RETRY_DELAY (1 s) where one is named and not there
///          yet; PMIX_TIMEOUT: of the host's decision (10 s). PMIX_TOOL_DO_NOT_CONNECT,
///          PMIX_TOOL_CONNECT_OPTIONAL (bool). PMIX_TOOL_NSPACE, PMIX_TOOL_RANK (0): its own name; else the
///          server gives one
///          PMIX_EXTERNAL_PROGRESS (bool): core/abi/roles/progress.cpp
///          PMIX_LAUNCHER (bool): the tool is the server of processes that it starts, too, under its own
///          name: PMIx_server_* calls work, and its upcalls are those of PMIx_tool_set_server_module. What
///          its server knows is answered there, the rest by the one that it is connected to
///   Errors: PMIX_ERR_UNREACH (no such server in this network namespace), _NOT_FOUND (no such file),
///   _NO_PERMISSIONS (another user's), _NOT_SUPPORTED (it is of another release or another library, takes no
///   tools, or PMIX_TCP_URI), _TIMEOUT (it does not answer: is it stopped?), _EXISTS (the name is another's),
///   _NOT_SUPPORTED (PMIX_LAUNCHER of a process that is a client or a server), _BAD_PARAM, and what the
///   server's host says
///   Cost: reads /proc/self/net/unix; a connect and a round trip to each server that is tried, and one more
///   to that which lets it in.
///   Source: PMIx Standard, chapter "Tools and Debuggers". Tests: tests/multiproc/tool/tool_role_test.cpp,
///   tool_servers_test.cpp
/// Not yet: servers of other machines; files other than PMIX_TOOL_ATTACHMENT_FILE are not looked for, a
/// socket's name tells where a server is; of a launcher PMIX_LAUNCHER_RNDZ_URI, _RNDZ_FILE and
/// PMIX_KEEPALIVE_PIPE; PMIx_Fence, _Connect, _Abort and _Put of a tool.
pmix_status_t PMIx_tool_init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    ServerWish wish;
    auto status = wish.read(info, ninfo);
    if (status != PMIX_SUCCESS) return status;
    const weft::abi::Roles::Changing changing(roles());
    status = roles().tool_count == 0 ? start_tool(wish, info, ninfo) : connect_tool(wish);
    if (status != PMIX_SUCCESS) return status;
    if (weft::abi::wants_server(info, ninfo)) {
      status = weft::abi::make_server_of_tool();
      if (status != PMIX_SUCCESS && roles().tool_count == 0) roles().set_tool(nullptr);
      if (status != PMIX_SUCCESS) return status;
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
    if (--roles().tool_count != 0) return PMIX_SUCCESS;
    weft::abi::end_server_of_tool();
    roles().set_tool(nullptr);
    return PMIX_SUCCESS;
  });
}

bool PMIx_tool_is_connected(void) {
  const weft::abi::InCall in_call;
  auto* tool = roles().tool();
  return tool != nullptr && tool->servers().is_connected();
}
