// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Sets and Groups": what is not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix.h"
#include "pmix_server.h"

pmix_status_t PMIx_server_define_process_set(const pmix_proc_t*, size_t, const char*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_server_delete_process_set(char*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
