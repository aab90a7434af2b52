// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Security": not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix.h"

pmix_status_t PMIx_Get_credential(const pmix_info_t*, size_t, pmix_byte_object_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Get_credential_nb(const pmix_info_t*, size_t, pmix_credential_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Validate_credential(const pmix_byte_object_t*, const pmix_info_t*, size_t, pmix_info_t**,
                                       size_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Validate_credential_nb(const pmix_byte_object_t*, const pmix_info_t*, size_t,
                                          pmix_validation_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
