// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Fabric Support Definitions": not implemented yet.
// Each returns PMIX_ERR_NOT_SUPPORTED and leaves its out-parameters alone; no callback is ever called.
#include "pmix.h"

pmix_status_t PMIx_Fabric_register(pmix_fabric_t*, const pmix_info_t*, size_t) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t*, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Fabric_update(pmix_fabric_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t*, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t*) {
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t*, pmix_op_cbfunc_t, void*) {
  return PMIX_ERR_NOT_SUPPORTED;
}
