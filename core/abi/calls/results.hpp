// SPDX-License-Identifier: BSD-3-Clause
// How results become a C caller's: infos that the caller frees, or infos that a callback borrows.
#pragma once

#include <memory>

#include "core/data/types/memory.hpp"
#include "core/data/types/value.hpp"

namespace weft::abi {

/// The caller owns it: PMIX_INFO_FREE(). results and nresults may be NULL: then the infos are dropped.
inline pmix_status_t hand_over(data::Infos infos, pmix_info_t** results, std::size_t* nresults) {
  if (results == nullptr || nresults == nullptr) return PMIX_SUCCESS;
  pmix_info_t* out = nullptr;
  if (infos.size() != 0) {
    out = static_cast<pmix_info_t*>(data::new_elements(sizeof(pmix_info_t), infos.size()));
    if (out == nullptr) return PMIX_ERR_NOMEM;
    for (std::size_t i = 0; i < infos.size(); ++i) {
      out[i] = infos.data()[i];
      infos.data()[i].value.type = PMIX_UNDEF;  // what it held is the caller's now
    }
  }
  *results = out;
  *nresults = infos.size();
  return PMIX_SUCCESS;
}

/// To a pmix_info_cbfunc_t, which may be NULL: the infos stay until the release function is called. Without
/// infos there is none.
inline void lend(pmix_status_t status, data::Infos infos, pmix_info_cbfunc_t cbfunc, void* cbdata) {
  if (cbfunc == nullptr) return;
  if (infos.size() == 0) return cbfunc(status, nullptr, 0, cbdata, nullptr, nullptr);
  auto* held = new data::Infos(std::move(infos));
  const auto release = [](void* kept) { delete static_cast<data::Infos*>(kept); };
  cbfunc(status, held->data(), held->size(), cbdata, release, held);
}

}  // namespace weft::abi
