// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Synchronization and data access operations".
#include "core/abi/guard.hpp"
#include "core/abi/native_procs.hpp"
#include "core/abi/requests.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::roles;

namespace {

/// A fence of a group that goes on without members that are lost or leave: null: it is another fence.
const char* adjusting_group(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info, size_t ninfo) {
  const auto* group = nprocs == 0 ? nullptr : weft::abi::whole_group(procs, nprocs);
  if (group == nullptr || weft::abi::is_adjusting(group)) return group;
  for (size_t i = 0; i < ninfo; ++i)
    if (weft::data::key_of(info[i]) == PMIX_GROUP_FT_COLLECTIVE && weft::data::is_true(info[i].value)) return group;
  return nullptr;
}

pmix_status_t make_fence(const char* group, const pmix_info_t* info, size_t ninfo, weft::link::GroupFence& out) {
  out.group = weft::abi::text_of(group, PMIX_MAX_NSLEN);
  return weft::abi::copy_infos(info, ninfo, out.directives);
}

}  // namespace

/// PMIx_Fence: no process that is named returns before all have entered; with PMIX_COLLECT_DATA their data travels too.
///   procs [nprocs]  the members; rank PMIX_RANK_WILDCARD = all of that namespace or group; NULL, 0 = mine
///   info  [ninfo]   PMIX_COLLECT_DATA (bool); PMIX_COLLECT_GENERATED_JOB_INFO (bool): what the servers of other nodes alone know of
///                   their ranks comes too, which PMIX_COLLECT_DATA alone does not bring; PMIX_TIMEOUT (int, seconds, 0 = none); a host that carries fences gets these and all
///                   others
///                   PMIX_GROUP_FT_COLLECTIVE (bool): of all members of a group by its name: members that are lost, or leave, are not waited
///                   for; so also where the group was made with it. The cards travel then, too.
///   Blocks this thread only. Errors: PMIX_ERR_INIT, _BAD_PARAM, _TIMEOUT, _PROC_ABORTED (a participant died),
///   _UNREACH (a participant finalized), _LOST_CONNECTION (the server is gone).
///   Cost: on one node: one compare-and-swap and one wake; the first fence of a set that is not the whole job is a round
///   trip to the server. On n nodes: besides, the rounds of the servers' schedule (docs/design/fence.md).
///   Tests: tests/multiproc/fence_test.cpp, host_fence_test.cpp
[[gnu::hot]] pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                      size_t ninfo) {
  return guarded_status([&]() -> pmix_status_t {
    auto* client = roles().client();
    if (client == nullptr) return PMIX_ERR_INIT;
    if ((procs == nullptr && nprocs != 0) || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
    if (const auto* group = adjusting_group(procs, nprocs, info, ninfo)) {
      weft::link::GroupFence message;
      const auto status = make_fence(group, info, ninfo, message);
      return status == PMIX_SUCCESS ? weft::abi::ask(message).status : status;
    }
    const weft::abi::NativeProcs native(procs, nprocs);
    if (native.status() != PMIX_SUCCESS) return native.status();
    return client->fences().fence(native.data(), native.size(), info, ninfo);
  });
}

/// PMIx_Fence_nb: the same; cbfunc runs once, on the library's thread.
pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    auto* client = roles().client();
    if (client == nullptr) return PMIX_ERR_INIT;
    if (cbfunc == nullptr || (procs == nullptr && nprocs != 0) || (info == nullptr && ninfo != 0))
      return PMIX_ERR_BAD_PARAM;
    if (const auto* group = adjusting_group(procs, nprocs, info, ninfo)) {
      weft::link::GroupFence message;
      const auto status = make_fence(group, info, ninfo, message);
      return status == PMIX_SUCCESS ? weft::abi::ask_later(message, cbfunc, cbdata) : status;
    }
    const weft::abi::NativeProcs native(procs, nprocs);
    if (native.status() != PMIX_SUCCESS) return native.status();
    return client->fences().fence_later(native.data(), native.size(), info, ninfo,
                                        [cbfunc, cbdata](pmix_status_t status) { cbfunc(status, cbdata); });
  });
}
