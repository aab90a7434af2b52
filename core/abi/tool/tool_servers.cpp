// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": the servers of a tool.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/role.hpp"
#include "core/client/tool/server_search.hpp"
#include "core/data/names/deadline.hpp"
#include "core/data/names/directive.hpp"
#include "core/link/proc_set.hpp"
#include "pmix_tool.h"
#include "weft/pmix_extensions.h"

using weft::abi::guarded_directives;
using weft::abi::guarded_status;
using weft::abi::roles;

namespace {

/// A server that is no tool becomes one at the other server, for its names.
pmix_status_t share_names(const pmix_info_t* infos, size_t count, pmix_proc_t& other) {
  auto* server = roles().server();
  if (server == nullptr) return PMIX_ERR_INIT;
  weft::client::ServerWish wish;
  if (const auto status = wish.read(infos, count); status != PMIX_SUCCESS) return status;
  auto found = weft::client::find_server(wish, {{}, PMIx_Get_version(), {}});
  if (found.greeting.status != PMIX_SUCCESS) return found.greeting.status;
  other = found.greeting.server;
  auto socket = std::make_shared<weft::base::Fd>(std::move(found.greeting.socket));
  return server->await([&](auto done) { server->share_names(std::move(*socket), other, std::move(done)); });
}

}  // namespace

/// PMIx_tool_attach_to_server: connects to one more server. The first is the primary, to which requests go.
///   proc    written with the own name; server: with the server's; either may be NULL
///   info    as of PMIx_tool_init, and PMIX_PRIMARY_SERVER (bool). Servers that the tool is connected to are
///           no candidates; one of them that is named stays as it is: PMIX_SUCCESS
///   Errors: those of PMIx_tool_init; PMIX_ERR_INIT; _UNREACH (no new server); _EXISTS (its host would give
///   the tool another name)
/// With WEFT_NAMES_OF (weft/pmix_extensions.h), of a process that is a server and no tool: the servers of its
/// cluster publish and look up names of PMIX_RANGE_SESSION and _GLOBAL at that server, for which it was the
/// server of the attribute weft.names_keeper. proc is not written. PMIX_ERR_EXISTS: it has such a server
pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t* proc, pmix_proc_t* server, pmix_info_t info[],
                                         size_t ninfo) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* tool = roles().tool();
    pmix_proc_t attached{};
    if (tool == nullptr && weft::data::is_set(info, ninfo, WEFT_NAMES_OF)) {
      const auto status = share_names(info, ninfo, attached);
      if (status == PMIX_SUCCESS && server != nullptr) *server = attached;
      return status;
    }
    if (tool == nullptr) return PMIX_ERR_INIT;
    weft::client::ServerWish wish;
    if (const auto status = wish.read(info, ninfo); status != PMIX_SUCCESS) return status;
    const auto status = tool->servers().attach(wish, attached);
    if (status != PMIX_SUCCESS) return status;
    if (proc != nullptr) *proc = tool->self();
    if (server != nullptr) *server = attached;
    return PMIX_SUCCESS;
  });
}

/// PMIx_tool_disconnect: hangs up on a server. Without a primary requests are PMIX_ERR_UNREACH until
/// PMIx_tool_set_server, or until a tool that has no other server attaches to one. Errors: PMIX_ERR_INIT,
/// _BAD_PARAM, _NOT_FOUND (it is not connected to that one).
pmix_status_t PMIx_tool_disconnect(const pmix_proc_t* server) {
  return guarded_status([&]() -> pmix_status_t {
    auto* tool = roles().tool();
    if (tool == nullptr) return PMIX_ERR_INIT;
    return server == nullptr ? PMIX_ERR_BAD_PARAM : tool->servers().disconnect(*server);
  });
}

/// PMIx_tool_get_servers: the primary first, the others in the order in which they came.
///   servers  malloc'ed; NULL where there is none, which is PMIX_SUCCESS
pmix_status_t PMIx_tool_get_servers(pmix_proc_t* servers[], size_t* nservers) {
  return guarded_status([&]() -> pmix_status_t {
    auto* tool = roles().tool();
    if (tool == nullptr) return PMIX_ERR_INIT;
    if (servers == nullptr || nservers == nullptr) return PMIX_ERR_BAD_PARAM;
    const auto all = tool->servers().names();
    pmix_proc_t* out = nullptr;
    if (!all.empty()) {
      out = static_cast<pmix_proc_t*>(std::malloc(all.size() * sizeof(pmix_proc_t)));
      if (out == nullptr) return PMIX_ERR_NOMEM;
      std::memcpy(out, all.data(), all.size() * sizeof(pmix_proc_t));
    }
    *servers = out;
    *nservers = all.size();
    return PMIX_SUCCESS;
  });
}

/// PMIx_tool_set_server: requests go to this server from here on. What was registered with another stays
/// there: events come from both.
///   info    PMIX_WAIT_FOR_CONNECTION (bool): until another thread has attached to it; PMIX_TIMEOUT (seconds)
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_FOUND (it is not connected to that one), _TIMEOUT
pmix_status_t PMIx_tool_set_server(const pmix_proc_t* server, pmix_info_t info[], size_t ninfo) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* tool = roles().tool();
    if (tool == nullptr) return PMIX_ERR_INIT;
    if (server == nullptr) return PMIX_ERR_BAD_PARAM;
    bool waits = false;
    weft::data::Timeout timeout;
    for (size_t i = 0; i < ninfo; ++i) {
      const auto key = weft::data::key_of(info[i]);
      if (key == PMIX_WAIT_FOR_CONNECTION) waits = weft::data::is_true(info[i].value);
      if (key != PMIX_TIMEOUT) continue;
      const auto read = weft::data::timeout_of(info[i].value);
      if (!read) return PMIX_ERR_BAD_PARAM;
      timeout = *read;
    }
    return tool->servers().set_primary(*server, waits, timeout);
  });
}

/// PMIx_tool_connect_to_server: attaches to a server in place of the primary, which it hangs up on. All
/// else is as with PMIx_tool_attach_to_server.
pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* tool = roles().tool();
    if (tool == nullptr) return PMIX_ERR_INIT;
    weft::client::ServerWish wish;
    if (const auto status = wish.read(info, ninfo); status != PMIX_SUCCESS) return status;
    const auto before = tool->servers().primary_name();
    pmix_proc_t attached{};
    wish.becomes_primary = true;
    const auto status = tool->servers().attach(wish, attached);
    if (status != PMIX_SUCCESS) return status;
    if (before && !weft::link::is_same(*before, attached)) (void)tool->servers().disconnect(*before);
    if (proc != nullptr) *proc = tool->self();
    return PMIX_SUCCESS;
  });
}
