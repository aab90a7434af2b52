// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Synchronization and data access operations".
#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/native_procs.hpp"
#include "core/abi/roles/requests.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::roles;
using Group = weft::client::Groups::Group;

namespace {

/// The group whose own fence this is: it knows of members that leave. Nothing: a fence of processes; so is
/// that of a group across nodes whose host carries fences.
std::optional<Group> group_with_fence(const pmix_proc_t* procs, size_t nprocs) {
  auto group = weft::abi::whole_group(procs, nprocs);
  return group && !group->fences_by_host ? std::move(group) : std::nullopt;
}

pmix_status_t make_fence(const pmix_proc_t& group, const pmix_info_t* info, size_t ninfo,
                         weft::link::GroupFence& out) {
  out.group = weft::abi::text_of(group.nspace, PMIX_MAX_NSLEN);
  return weft::abi::copy_infos(info, ninfo, out.directives);
}

pmix_status_t fence_of_group(weft::client::Client& client, const pmix_proc_t& name, const Group& group,
                             const pmix_info_t* info, size_t ninfo) {
  weft::link::GroupFence message;
  if (const auto status = make_fence(name, info, ninfo, message); status != PMIX_SUCCESS) return status;
  const auto out = client.group_meetings().fence(message.group, group.members, message.directives);
  if (out.has_ended) return PMIX_SUCCESS;
  message.waited_ms = static_cast<std::uint32_t>(out.waited.count());
  return weft::abi::ask(message).status;
}

pmix_status_t fence_of_group_later(const pmix_proc_t& name, const pmix_info_t* info, size_t ninfo,
                                   std::function<void(pmix_status_t)> done) {
  weft::link::GroupFence message;
  if (const auto status = make_fence(name, info, ninfo, message); status != PMIX_SUCCESS) return status;
  return weft::abi::ask_later(
      message, [done = std::move(done)](const weft::link::Answer& answer) { done(answer.status); });
}

/// done(status): on the library's thread; not after an error.
pmix_status_t begin_fence(weft::client::Client& client, const pmix_proc_t procs[], size_t nprocs,
                          const pmix_info_t info[], size_t ninfo, std::function<void(pmix_status_t)> done) {
  if (group_with_fence(procs, nprocs)) return fence_of_group_later(*procs, info, ninfo, std::move(done));
  const weft::abi::NativeProcs native(procs, nprocs);
  if (native.status() != PMIX_SUCCESS) return native.status();
  return client.fences().fence_later(native.data(), native.size(), info, ninfo, std::move(done));
}

}  // namespace

/// PMIx_Fence: no process that is named returns before all have entered; with PMIX_COLLECT_DATA their data
/// travels too.
///   procs [nprocs]  the members; rank PMIX_RANK_WILDCARD = all of that namespace or group; NULL, 0 = mine
///   info  [ninfo]   PMIX_COLLECT_DATA (bool); PMIX_COLLECT_GENERATED_JOB_INFO (bool): what the servers of
///                   other nodes alone know of their ranks comes too, which PMIX_COLLECT_DATA alone does not
///                   bring; PMIX_TIMEOUT (int, seconds, 0 = none); a host that carries fences gets these and
///                   all others
///                   PMIX_GROUP_FT_COLLECTIVE (bool): of all members of a group by its name: members that are
///                   lost, or leave, are not waited for; so also where the group was made with it. The cards
///                   travel then, too.
///   Blocks this thread only. Errors: PMIX_ERR_INIT, _BAD_PARAM, _TIMEOUT, _PROC_ABORTED (a participant
///   died), _UNREACH (a participant finalized), _LOST_CONNECTION (the server is gone).
///   Cost: on one node: one compare-and-swap and one wake; the first fence of a set that is not the whole job
///   is a round trip to the server. On n nodes: besides, the rounds of the servers' schedule
///   (docs/design/fence.md).
///   Tests: tests/multiproc/fence/fence_test.cpp, host_fence_test.cpp
[[gnu::hot]] pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                                      size_t ninfo) {
  return guarded_status([&]() -> pmix_status_t {
    auto* client = roles().client();
    if (client == nullptr) return PMIX_ERR_INIT;
    if ((procs == nullptr && nprocs != 0) || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
    if (const auto group = group_with_fence(procs, nprocs))
      return fence_of_group(*client, *procs, *group, info, ninfo);
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
    std::function<void(pmix_status_t)> done = [cbfunc, cbdata](pmix_status_t status) {
      cbfunc(status, cbdata);
    };
    const auto traced = weft::abi::begin_traced(weft::store::TraceCall::fence_nb);
    if (traced)
      done = [done = std::move(done), traced](pmix_status_t status) {
        traced.end(status);
        done(status);
      };
    const auto status = begin_fence(*client, procs, nprocs, info, ninfo, std::move(done));
    if (status != PMIX_SUCCESS) traced.end(status);
    return status;
  });
}
