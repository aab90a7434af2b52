// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Publish/Lookup Operations": not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix.h"

pmix_status_t PMIx_Publish(const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Publish_nb(const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Lookup(pmix_pdata_t*, size_t, const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Lookup_nb(char**, const pmix_info_t*, size_t, pmix_lookup_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Unpublish(char**, const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Unpublish_nb(char**, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
