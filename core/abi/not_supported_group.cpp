// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Sets and Groups": what is not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix.h"

pmix_status_t PMIx_Group_invite(const char*, const pmix_proc_t*, size_t, const pmix_info_t*, size_t,
                                pmix_info_t**, size_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Group_invite_nb(const char*, const pmix_proc_t*, size_t, const pmix_info_t*, size_t,
                                   pmix_info_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Group_join(const char*, const pmix_proc_t*, pmix_group_opt_t, const pmix_info_t*, size_t,
                              pmix_info_t**, size_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Group_join_nb(const char*, const pmix_proc_t*, pmix_group_opt_t, const pmix_info_t*,
                                 size_t, pmix_info_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Group_leave(const char*, const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Group_leave_nb(const char*, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
