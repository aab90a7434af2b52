// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Management": what is not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix.h"

pmix_status_t PMIx_Spawn(const pmix_info_t*, size_t, const pmix_app_t*, size_t, char*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Spawn_nb(const pmix_info_t*, size_t, const pmix_app_t*, size_t, pmix_spawn_cbfunc_t,
                            void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Connect(const pmix_proc_t*, size_t, const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Connect_nb(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t,
                              void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Disconnect(const pmix_proc_t*, size_t, const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t,
                                 void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
