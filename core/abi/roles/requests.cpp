// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/roles/requests.hpp"

#include "core/abi/roles/native_procs.hpp"

namespace weft::abi {

std::shared_ptr<client::Connection> way_to_host(pmix_status_t& why_not) {
  auto* role = roles().requesting();
  why_not = PMIX_ERR_INIT;
  return role == nullptr ? nullptr : role->server_connection(why_not);
}

pmix_status_t copy_infos(const pmix_info_t* infos, std::size_t ninfo, data::Infos& out) {
  if (infos == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
  auto copy = data::Infos::copy_of(infos, ninfo);
  if (!copy) return PMIX_ERR_BAD_PARAM;
  out = std::move(*copy);
  return PMIX_SUCCESS;
}

pmix_status_t copy_procs(const pmix_proc_t* procs, std::size_t nprocs, std::vector<pmix_proc_t>& out) {
  if (procs == nullptr || nprocs == 0) return PMIX_ERR_BAD_PARAM;
  const NativeProcs native(procs, nprocs);
  if (native.status() == PMIX_SUCCESS) out.assign(native.data(), native.data() + native.size());
  return native.status();
}

}  // namespace weft::abi
