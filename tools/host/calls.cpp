// SPDX-License-Identifier: BSD-3-Clause
#include "tools/host/calls.hpp"

#include <cstring>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"

namespace weft::host {

void require(pmix_status_t status, const char* step) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  throw messages::Stop(messages::exit_status::own_failure,
                       messages::server_failed(step, PMIx_Error_string(status)));
}

pmix_proc_t proc_of(const std::string& nspace, job::Rank rank) noexcept {
  pmix_proc_t name{};
  std::strncpy(name.nspace, nspace.c_str(), PMIX_MAX_NSLEN);
  name.rank = number(rank);
  return name;
}

void raise_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range, InfoList& infos) {
  PMIx_Notify_event(
      code, source, range, infos.data(), infos.size(), [](pmix_status_t, void*) {}, nullptr);
}

}  // namespace weft::host
