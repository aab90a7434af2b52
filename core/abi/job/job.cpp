// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Job Management and Reporting": allocation, job control, monitoring. The host does
// the work, but for clean-up, which the server does.
#include <algorithm>
#include <string_view>

#include "core/abi/calls/results.hpp"
#include "core/abi/roles/requests.hpp"
#include "pmix.h"

using weft::abi::ask;
using weft::abi::ask_later;
using weft::abi::copy_infos;
using weft::abi::copy_procs;
using weft::abi::guarded_ask;
using weft::link::Allocate;
using weft::link::JobControl;
using weft::link::Monitor;

namespace {

/// For calls that wait: the infos of the answer become the caller's.
template <class Message>
pmix_status_t call(const Message& message, pmix_info_t** results, size_t* nresults) {
  auto answer = ask(message);
  if (answer.status != PMIX_SUCCESS) return answer.status;
  return weft::abi::hand_over(std::move(answer.infos), results, nresults);
}

template <class Message>
pmix_status_t call_later(const Message& message, pmix_info_cbfunc_t cbfunc, void* cbdata) {
  if (cbfunc == nullptr)
    return weft::abi::tell(message);  // Open MPI's clean-up at its start: no thread for that
  return ask_later(message, [cbfunc, cbdata](weft::link::Answer answer) {
    weft::abi::lend(answer.status, std::move(answer.infos), cbfunc, cbdata);
  });
}

pmix_status_t make_allocate(pmix_alloc_directive_t directive, const pmix_info_t* info, size_t ninfo,
                            Allocate& out) {
  out.directive = directive;
  return copy_infos(info, ninfo, out.infos);
}

/// Absolute paths, separated by commas.
bool are_absolute_paths(const pmix_value_t& value) {
  if (value.type != PMIX_STRING || value.data.string == nullptr) return false;
  std::string_view left = value.data.string;
  for (;;) {
    const auto comma = left.find(',');
    if (left.substr(0, 1) != "/") return false;
    if (comma == std::string_view::npos) return true;
    left.remove_prefix(comma + 1);
  }
}

/// Here and not at the server: a call without a callback could not be told.
bool has_good_paths(const pmix_info_t& directive) {
  const auto key = weft::data::key_of(directive);
  const bool has_paths =
      key == PMIX_REGISTER_CLEANUP || key == PMIX_REGISTER_CLEANUP_DIR || key == PMIX_CLEANUP_IGNORE;
  return !has_paths || are_absolute_paths(directive.value);
}

pmix_status_t make_job_control(const pmix_proc_t* targets, size_t ntargets, const pmix_info_t* directives,
                               size_t ndirs, JobControl& out) {
  if (directives == nullptr || ndirs == 0 || (targets == nullptr && ntargets != 0)) return PMIX_ERR_BAD_PARAM;
  if (!std::all_of(directives, directives + ndirs, has_good_paths)) return PMIX_ERR_BAD_PARAM;
  if (ntargets != 0)
    if (const auto status = copy_procs(targets, ntargets, out.targets); status != PMIX_SUCCESS) return status;
  return copy_infos(directives, ndirs, out.directives);
}

pmix_status_t make_monitor(const pmix_info_t* monitor, pmix_status_t error, const pmix_info_t* directives,
                           size_t ndirs, Monitor& out) {
  if (monitor == nullptr) return PMIX_ERR_BAD_PARAM;
  out.code = error;
  const auto status = copy_infos(monitor, 1, out.monitor);
  return status == PMIX_SUCCESS ? copy_infos(directives, ndirs, out.directives) : status;
}

}  // namespace

/// PMIx_Allocation_request: asks the host for resources, for more, or for fewer.
///   results  what the host says, to be freed with PMIX_INFO_FREE. The callback of the form that does not
///            block hears why a request is refused, too (PMIX_EVENT_TEXT_MESSAGE)
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION, _NOT_SUPPORTED (the host has
///   no scheduler: weftrun), and the host's
pmix_status_t PMIx_Allocation_request(pmix_alloc_directive_t directive, pmix_info_t* info, size_t ninfo,
                                      pmix_info_t** results, size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    Allocate message;
    const auto status = make_allocate(directive, info, ninfo, message);
    return status == PMIX_SUCCESS ? call(message, results, nresults) : status;
  });
}

pmix_status_t PMIx_Allocation_request_nb(pmix_alloc_directive_t directive, pmix_info_t* info, size_t ninfo,
                                         pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Allocate message;
    const auto status = make_allocate(directive, info, ninfo, message);
    return status == PMIX_SUCCESS ? call_later(message, cbfunc, cbdata) : status;
  });
}

/// PMIx_Job_control: asks for something to be done to processes.
///   targets     whose; NULL: all of the caller's job, and for clean-up the caller alone
///   directives  PMIX_REGISTER_CLEANUP and PMIX_REGISTER_CLEANUP_DIR (absolute paths, separated by commas)
///               with PMIX_CLEANUP_RECURSIVE, _EMPTY, _IGNORE, _LEAVE_TOPDIR: the server removes them when
///               the process has ended, however it did; PMIx_Finalize is no end. The targets of a clean-up
///               are processes of this node and of the caller's user. All others are the host's; without a
///               host for them nothing is done
///   results     what the host says, to be freed with PMIX_INFO_FREE
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (also: a path that is not absolute), _UNREACH (no server),
///   _LOST_CONNECTION, _NOT_FOUND and _NO_PERMISSIONS (a target of a clean-up), _NOT_SUPPORTED (the host
///   controls no jobs: weftrun), and the host's
pmix_status_t PMIx_Job_control(const pmix_proc_t targets[], size_t ntargets, const pmix_info_t directives[],
                               size_t ndirs, pmix_info_t** results, size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    JobControl message;
    const auto status = make_job_control(targets, ntargets, directives, ndirs, message);
    return status == PMIX_SUCCESS ? call(message, results, nresults) : status;
  });
}

/// PMIx_Job_control_nb: returns PMIX_SUCCESS exactly, callback or not (Observed: Open MPI 4.1.4 takes any
/// other value, also PMIX_OPERATION_SUCCEEDED, for a failure).
pmix_status_t PMIx_Job_control_nb(const pmix_proc_t targets[], size_t ntargets,
                                  const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                  void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    JobControl message;
    const auto status = make_job_control(targets, ntargets, directives, ndirs, message);
    return status == PMIX_SUCCESS ? call_later(message, cbfunc, cbdata) : status;
  });
}

/// PMIx_Process_monitor: asks the host or, where it monitors nothing, the server to watch the caller or a
/// file, or tells it of a heartbeat.
///   monitor     one info: PMIX_MONITOR_HEARTBEAT; PMIX_MONITOR_FILE (char*, an absolute path at the caller's
///               node); PMIX_SEND_HEARTBEAT; PMIX_MONITOR_CANCEL (char*, an identifier, or NULL for all)
///   error       the event to raise, for handlers that name it; of a server PMIX_SUCCESS stands for
///               PMIX_MONITOR_HEARTBEAT_ALERT or _FILE_ALERT. It names the caller
///               (PMIX_EVENT_AFFECTED_PROC), the identifier, the file
///   directives  of a server: PMIX_MONITOR_HEARTBEAT_TIME or _FILE_CHECK_TIME (uint32_t, seconds; 10),
///               _HEARTBEAT_DROPS or _FILE_DROPS (uint32_t: so many may be missed; 0), of files what is
///               watched: _FILE_SIZE (growth), _FILE_ACCESS, _FILE_MODIFY (all, where none is given);
///               PMIX_MONITOR_ID (char*), PMIX_RANGE (of the event; PMIX_RANGE_NAMESPACE)
///   A monitor raises its event once, and again after a sign of life; it ends with the process.
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _UNREACH (no server), _LOST_CONNECTION; of a server _NOT_FOUND (no
///   such monitor to cancel), _NO_PERMISSIONS (a file, for another user than the server's),
///   _OUT_OF_RESOURCE (more than 64 of a process), _NOT_SUPPORTED (resource usage, another kind)
///   Source: PMIx Standard, chapter "Job Management and Reporting". Tests:
///   tests/unit/core/server/monitors, tests/multiproc/job/monitors_test.py
pmix_status_t PMIx_Process_monitor(const pmix_info_t* monitor, pmix_status_t error,
                                   const pmix_info_t directives[], size_t ndirs, pmix_info_t** results,
                                   size_t* nresults) {
  return guarded_ask([&]() -> pmix_status_t {
    Monitor message;
    const auto status = make_monitor(monitor, error, directives, ndirs, message);
    return status == PMIX_SUCCESS ? call(message, results, nresults) : status;
  });
}

pmix_status_t PMIx_Process_monitor_nb(const pmix_info_t* monitor, pmix_status_t error,
                                      const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                      void* cbdata) {
  return guarded_ask([&]() -> pmix_status_t {
    Monitor message;
    const auto status = make_monitor(monitor, error, directives, ndirs, message);
    return status == PMIX_SUCCESS ? call_later(message, cbfunc, cbdata) : status;
  });
}

// The header's macro of that name goes through PMIx_Process_monitor_nb; this is the function of newer
// libraries.
#undef PMIx_Heartbeat
/// PMIx_Heartbeat: sends PMIX_SEND_HEARTBEAT for the monitors of this process; an error is not told.
void PMIx_Heartbeat() {
  (void)guarded_ask([&]() -> pmix_status_t {
    Monitor message;
    message.monitor.add(PMIX_SEND_HEARTBEAT, weft::data::Value::of(true));
    return weft::abi::tell(message);
  });
}
