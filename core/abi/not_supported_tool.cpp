// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Tools and Debuggers": what is not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix_tool.h"

pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
