// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/host/module_functions.hpp"

#include <algorithm>
#include <cstring>

namespace weft::server {
namespace {

using Module = pmix_server_module_t;
constexpr ModuleFunction functions[] = {
    {"client_connected", "PMIx_Init", offsetof(Module, client_connected)},
    {"client_finalized", "PMIx_Finalize", offsetof(Module, client_finalized)},
    {"abort", "PMIx_Abort", offsetof(Module, abort)},
    {"fence_nb", "PMIx_Fence", offsetof(Module, fence_nb)},
    {"direct_modex", "PMIx_Get", offsetof(Module, direct_modex)},
    {"publish", "PMIx_Publish", offsetof(Module, publish)},
    {"lookup", "PMIx_Lookup", offsetof(Module, lookup)},
    {"unpublish", "PMIx_Unpublish", offsetof(Module, unpublish)},
    {"spawn", "PMIx_Spawn", offsetof(Module, spawn)},
    {"connect", "PMIx_Connect", offsetof(Module, connect)},
    {"disconnect", "PMIx_Disconnect", offsetof(Module, disconnect)},
    {"register_events", "PMIx_Register_event_handler", offsetof(Module, register_events)},
    {"deregister_events", "PMIx_Deregister_event_handler", offsetof(Module, deregister_events)},
    {"listener", "", offsetof(Module, listener)},
    {"notify_event", "PMIx_Notify_event", offsetof(Module, notify_event)},
    {"query", "PMIx_Query_info", offsetof(Module, query)},
    {"tool_connected", "PMIx_tool_init", offsetof(Module, tool_connected)},
    {"log", "PMIx_Log", offsetof(Module, log)},
    {"allocate", "PMIx_Allocation_request", offsetof(Module, allocate)},
    {"job_control", "PMIx_Job_control", offsetof(Module, job_control)},
    {"monitor", "PMIx_Process_monitor", offsetof(Module, monitor)},
    {"get_credential", "PMIx_Get_credential", offsetof(Module, get_credential)},
    {"validate_credential", "PMIx_Validate_credential", offsetof(Module, validate_credential)},
    {"iof_pull", "PMIx_IOF_pull", offsetof(Module, iof_pull)},
    {"push_stdin", "PMIx_IOF_push", offsetof(Module, push_stdin)},
    {"group", "PMIx_Group_construct", offsetof(Module, group)},
    {"fabric", "PMIx_Fabric_register", offsetof(Module, fabric)},
    {"client_connected2", "PMIx_Init", offsetof(Module, client_connected2)},
};

}  // namespace

bool ModuleFunction::is_offered(const pmix_server_module_t& module) const noexcept {
  void (*pointer)() = nullptr;
  std::memcpy(&pointer, reinterpret_cast<const char*>(&module) + slot, sizeof pointer);
  return pointer != nullptr;
}

std::span<const ModuleFunction> module_functions() noexcept {
  return functions;
}

const ModuleFunction* module_function(std::string_view name) noexcept {
  const auto* found = std::find_if(std::begin(functions), std::end(functions),
                                   [&](const ModuleFunction& function) { return name == function.name; });
  return found != std::end(functions) ? found : nullptr;
}

}  // namespace weft::server
