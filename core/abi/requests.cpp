// SPDX-License-Identifier: BSD-3-Clause
#include "core/abi/requests.hpp"

namespace weft::abi {

client::Client* asker(pmix_status_t& why_not) noexcept {
  auto* client = roles().client();
  if (client == nullptr)
    why_not = roles().acting() != nullptr ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_INIT;
  else if (client->singleton())
    why_not = PMIX_ERR_UNREACH;
  else
    return client;
  return nullptr;
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
  out.assign(procs, procs + nprocs);
  return PMIX_SUCCESS;
}

}  // namespace weft::abi
