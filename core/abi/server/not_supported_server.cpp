// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Server-Specific Interfaces": what is not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix_server.h"

pmix_status_t PMIx_server_register_resources(pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_server_deregister_resources(pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_server_collect_job_info(pmix_proc_t*, size_t, pmix_data_buffer_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_server_IOF_flow_control(const pmix_proc_t*, pmix_iof_channel_t, bool, const pmix_info_t*,
                                           size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

// The pair below is in no published Standard: what a caller may expect of `info` and of the bytes is unknown.
pmix_status_t PMIx_generate_regex2(const char*, pmix_info_t*, size_t, pmix_regex2_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_parse_regex2(const pmix_regex2_t*, pmix_info_t*, size_t, char**) {
  return PMIX_ERR_NOT_SUPPORTED;
}
