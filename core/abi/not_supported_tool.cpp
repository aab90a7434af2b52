// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": what is not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix_tool.h"

pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t*, pmix_proc_t*, pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t*, pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_tool_disconnect(const pmix_proc_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_tool_get_servers(pmix_proc_t**, size_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_tool_set_server(const pmix_proc_t*, pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
