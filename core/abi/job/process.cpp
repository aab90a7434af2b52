// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Process Management": spawn, connect, disconnect. The host does the work, or for the
// latter two the servers.
#include "core/abi/roles/requests.hpp"
#include "core/data/types/array.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::link::Connect;
using weft::link::Disconnect;
using weft::link::Spawn;

namespace {

pmix_status_t make_spawn(const pmix_info_t* job, size_t ninfo, const pmix_app_t* apps, size_t napps,
                         Spawn& out) {
  if (apps == nullptr || napps == 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < napps; ++i) {
    const bool has_program =
        apps[i].cmd != nullptr || (apps[i].argv != nullptr && apps[i].argv[0] != nullptr);
    if (!has_program || (apps[i].info == nullptr && apps[i].ninfo != 0)) return PMIX_ERR_BAD_PARAM;
  }
  auto copy = weft::data::value_of_array(PMIX_APP, apps, napps);
  if (!copy) return PMIX_ERR_BAD_PARAM;
  out.apps = std::move(*copy);
  return copy_infos(job, ninfo, out.job);
}

/// The namespace in an answer; empty: there is none.
std::string_view nspace_in(const weft::link::Answer& answer) {
  const auto& value = answer.value.get();
  const bool is_text = value.type == PMIX_STRING && value.data.string != nullptr;
  return is_text ? weft::abi::text_of(value.data.string, PMIX_MAX_NSLEN) : std::string_view();
}

template <class Message>
pmix_status_t make_set(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info, size_t ninfo,
                       Message& out) {
  const auto status = copy_procs(procs, nprocs, out.procs);
  return status == PMIX_SUCCESS ? copy_infos(info, ninfo, out.directives) : status;
}

template <class Message>
pmix_status_t call_set(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info, size_t ninfo) {
  Message message;
  const auto status = make_set(procs, nprocs, info, ninfo, message);
  return status == PMIX_SUCCESS ? ask(message).status : status;
}

template <class Message>
pmix_status_t call_set_later(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info, size_t ninfo,
                             pmix_op_cbfunc_t cbfunc, void* cbdata) {
  Message message;
  const auto status = make_set(procs, nprocs, info, ninfo, message);
  return status == PMIX_SUCCESS ? ask_later(message, cbfunc, cbdata) : status;
}

}  // namespace

/// PMIx_Spawn: the host starts a new job.
///   job_info  directives for the job; apps [napps]: what runs; nspace: PMIX_MAX_NSLEN + 1 characters,
///             written on success; may be NULL
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (an application without a program), _UNREACH (no server),
///   _LOST_CONNECTION, _NOT_SUPPORTED (the host spawns nothing), and the host's
pmix_status_t PMIx_Spawn(const pmix_info_t* job_info, size_t ninfo, const pmix_app_t* apps, size_t napps,
                         char* nspace) {
  return guarded_ask([&]() -> pmix_status_t {
    Spawn message;
    const auto status = make_spawn(job_info, ninfo, apps, napps, message);
    if (status != PMIX_SUCCESS) return status;
    const auto answer = ask(message);
    if (answer.status == PMIX_SUCCESS && nspace != nullptr)
      weft::data::load_fixed(nspace, PMIX_MAX_NSLEN + 1, nspace_in(answer));
    return answer.status;
  });
}

pmix_status_t PMIx_Spawn_nb(const pmix_info_t* job_info, size_t ninfo, const pmix_app_t* apps, size_t napps,
                            pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Spawn message;
    const auto status = make_spawn(job_info, ninfo, apps, napps, message);
    if (status != PMIX_SUCCESS) return status;
    return ask_later(message, [cbfunc, cbdata](const weft::link::Answer& answer) {
      pmix_nspace_t nspace;
      weft::data::load_fixed(nspace, sizeof nspace, nspace_in(answer));
      if (cbfunc != nullptr) cbfunc(answer.status, answer.status == PMIX_SUCCESS ? nspace : nullptr, cbdata);
    });
  });
}

/// PMIx_Connect: returns when all of `procs`, which may name the set in any order, have called. Afterwards
/// each can get the cards of all, and what the other nodes' servers know of their jobs. Clients hear of the
/// end of each as of any process of their job.
///   info  PMIX_TIMEOUT (int, seconds; the earliest of a node's holds), and directives for a host that
///         connects by itself
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (no set, or one without the caller), _UNREACH (no server; a
///   participant has finalized), _PROC_ABORTED (a participant has died), _NOT_FOUND (a namespace that is not
///   registered here), _TIMEOUT, _LOST_CONNECTION, _NOT_SUPPORTED (participants on several nodes, under a
///   host that carries fences and connects nothing)
///   Cost: as PMIx_Group_construct. Tests: tests/multiproc/host/asks_test.cpp, cluster_group_test.cpp
pmix_status_t PMIx_Connect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info, size_t ninfo) {
  return guarded_ask([&] { return call_set<Connect>(procs, nprocs, info, ninfo); });
}

pmix_status_t PMIx_Connect_nb(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info, size_t ninfo,
                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&] { return call_set_later<Connect>(procs, nprocs, info, ninfo, cbfunc, cbdata); });
}

/// PMIx_Disconnect: ends what PMIx_Connect began; the same arguments and errors, and
/// PMIX_ERR_INVALID_OPERATION (they are not connected).
pmix_status_t PMIx_Disconnect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                              size_t ninfo) {
  return guarded_ask([&] { return call_set<Disconnect>(procs, nprocs, info, ninfo); });
}

pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                 size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&] { return call_set_later<Disconnect>(procs, nprocs, info, ninfo, cbfunc, cbdata); });
}
