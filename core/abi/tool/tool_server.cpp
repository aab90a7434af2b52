// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": a tool as the server of processes that it starts.
#include "core/abi/tool/tool_server.hpp"

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/role.hpp"
#include "pmix_tool.h"

using weft::abi::guarded_status;
using weft::abi::roles;

namespace weft::abi {

bool wants_server(const pmix_info_t* infos, size_t ninfo) {
  for (size_t i = 0; i < ninfo; ++i)
    if (data::key_of(infos[i]) == PMIX_LAUNCHER) return data::is_true(infos[i].value);
  return false;
}

pmix_status_t make_server_of_tool() {
  if (roles().is_launcher()) return PMIX_SUCCESS;
  if (roles().client() != nullptr || roles().server_count != 0) return PMIX_ERR_NOT_SUPPORTED;
  auto& tool = *roles().tool();
  data::Infos infos;
  infos.add(PMIX_SERVER_NSPACE, data::Value::of(link::nspace_of(tool.self())));
  infos.add(PMIX_SERVER_RANK, data::Value::of_rank(tool.self().rank));
  if (tool.servers().is_driven_by_calls()) infos.add(PMIX_EXTERNAL_PROGRESS, data::Value::of(true));
  auto started = server::Server::start(nullptr, infos.data(), infos.size(), tool.servers().handlers());
  if (!started) return to_status(started.error());
  roles().set_server(std::move(*started));
  roles().set_launcher();
  return PMIX_SUCCESS;
}

void end_server_of_tool() {
  if (!roles().is_launcher()) return;
  roles().set_server(nullptr);
  roles().server_count = 0;
}

}  // namespace weft::abi

/// PMIx_tool_set_server_module: makes a tool the server of processes that it starts, as PMIX_LAUNCHER does,
/// and says which upcalls it takes. Its server has the tool's name and event handlers; PMIx_server_* calls
/// work from here on. Again: other upcalls.
///   module  copied; its listener is not called
///   Errors: PMIX_ERR_INIT (no tool), _BAD_PARAM, _NOT_SUPPORTED (this process is a client, or a server by
///   PMIx_server_init)
///   Source: observed in OpenPMIx's headers; the Standard has no text about it. Tests:
///   tests/multiproc/tool/launcher_test.cpp
/// Not yet: the calls of such a module are not told by PMIX_QUERY_ATTRIBUTE_SUPPORT; its own PMIx_Spawn does
/// not come to its spawn
pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t* module) {
  return guarded_status([&]() -> pmix_status_t {
    if (roles().tool() == nullptr) return PMIX_ERR_INIT;
    if (module == nullptr) return PMIX_ERR_BAD_PARAM;
    {
      const weft::abi::Roles::Changing changing(roles());
      if (roles().tool_count == 0) return PMIX_ERR_INIT;
      if (const auto status = weft::abi::make_server_of_tool(); status != PMIX_SUCCESS) return status;
    }
    auto* server = roles().server();
    if (server == nullptr) return PMIX_ERR_INIT;
    return server->await([&](auto done) { server->set_module(*module, std::move(done)); });
  });
}
