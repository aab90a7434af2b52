// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Sets and Groups": construct and destruct. The host does the work.
#include "core/abi/requests.hpp"
#include "core/abi/results.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::link::GroupConstruct;
using weft::link::GroupDestruct;

namespace {

pmix_status_t copy_name(const char* group, std::string& out) {
  if (group == nullptr) return PMIX_ERR_BAD_PARAM;
  const auto name = weft::abi::text_of(group, PMIX_MAX_NSLEN + 1);
  if (name.empty() || name.size() > PMIX_MAX_NSLEN) return PMIX_ERR_BAD_PARAM;
  out = name;
  return PMIX_SUCCESS;
}

pmix_status_t make_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                             const pmix_info_t* directives, size_t ndirs, GroupConstruct& out) {
  if (const auto status = copy_name(group, out.group); status != PMIX_SUCCESS) return status;
  if (const auto status = copy_procs(procs, nprocs, out.procs); status != PMIX_SUCCESS) return status;
  return copy_infos(directives, ndirs, out.directives);
}

pmix_status_t make_destruct(const char* group, const pmix_info_t* directives, size_t ndirs,
                            GroupDestruct& out) {
  const auto status = copy_name(group, out.group);
  return status == PMIX_SUCCESS ? copy_infos(directives, ndirs, out.directives) : status;
}

}  // namespace

/// PMIx_Group_construct: returns when all of `procs` have called with the same name, and the host has made the group.
///   group    its name, of at most PMIX_MAX_NSLEN characters
///   procs    the members, in any order; a job by PMIX_RANK_WILDCARD or rank by rank
///   results  what the host says, to be freed with PMIX_INFO_FREE; may be NULL
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (no name, no members, the caller is none of them, members that do not agree on the members),
///   _UNREACH (no server; a member has finalized), _PROC_ABORTED (a member has died), _TIMEOUT, _LOST_CONNECTION, _NOT_SUPPORTED
///   (the host makes no groups: weftrun), and the host's. Cost: a round trip to the server, and the host's own work.
/// Not yet: groups of a host without the upcall `group`, such as weftrun; the library's own part in PMIX_GROUP_LEADER, _OPTIONAL,
/// _LOCAL_ONLY, _NOTIFY_TERMINATION; the group's name where a namespace may stand.
pmix_status_t PMIx_Group_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                   const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                                   size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupConstruct message;
    const auto status = make_construct(group, procs, nprocs, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    auto answer = ask(message);
    if (answer.status != PMIX_SUCCESS) return answer.status;
    return weft::abi::hand_over(std::move(answer.infos), results, nresults);
  });
}

/// Not yet: what PMIx_Group_construct lacks.
pmix_status_t PMIx_Group_construct_nb(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                      const pmix_info_t* directives, size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                      void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupConstruct message;
    const auto status = make_construct(group, procs, nprocs, directives, ndirs, message);
    if (status != PMIX_SUCCESS) return status;
    return ask_later(message, [cbfunc, cbdata](weft::link::Answer answer) {
      weft::abi::lend(answer.status, std::move(answer.infos), cbfunc, cbdata);
    });
  });
}

/// PMIx_Group_destruct: returns when all members have called, and the host has ended the group. Errors: as PMIx_Group_construct, and
/// PMIX_ERR_NOT_FOUND (there is no such group here).
/// Not yet: what PMIx_Group_construct lacks.
pmix_status_t PMIx_Group_destruct(const char* group, const pmix_info_t* directives, size_t ndirs) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupDestruct message;
    const auto status = make_destruct(group, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask(message).status : status;
  });
}

/// Not yet: what PMIx_Group_construct lacks.
pmix_status_t PMIx_Group_destruct_nb(const char* group, const pmix_info_t* directives, size_t ndirs,
                                     pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    GroupDestruct message;
    const auto status = make_destruct(group, directives, ndirs, message);
    return status == PMIX_SUCCESS ? ask_later(message, cbfunc, cbdata) : status;
  });
}
