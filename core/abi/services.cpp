// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Job management and reporting": log and job control.
#include <cstdio>

#include "core/abi/guard.hpp"
#include "core/abi/role.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::roles;

namespace {

std::FILE* channel_of(std::string_view key) {
  if (key == PMIX_LOG_STDERR) return stderr;
  return key == PMIX_LOG_STDOUT ? stdout : nullptr;
}

/// Prints what goes to this process's own channels; the launcher forwards them like any output. What is left is
/// for the server.
pmix_status_t log_here(const pmix_info_t* data, size_t ndata, weft::data::Infos& left) {
  for (size_t i = 0; i < ndata; ++i) {
    auto* channel = channel_of(weft::data::key_of(data[i]));
    if (channel == nullptr) {
      auto value = weft::data::Value::copy_of(data[i].value);
      if (!value) return PMIX_ERR_BAD_PARAM;
      left.add(weft::data::key_of(data[i]), std::move(*value));
      continue;
    }
    if (data[i].value.type != PMIX_STRING || data[i].value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
    std::fputs(data[i].value.data.string, channel);
    std::fflush(channel);
  }
  return PMIX_SUCCESS;
}

pmix_status_t log_later(const pmix_info_t* data, size_t ndata, const pmix_info_t* directives, size_t ndirs,
                        std::function<void(pmix_status_t)> done) {
  auto* client = roles().client();
  if (client == nullptr) return PMIX_ERR_INIT;
  if (data == nullptr || ndata == 0 || (directives == nullptr && ndirs != 0)) return PMIX_ERR_BAD_PARAM;
  weft::data::Infos left;
  if (const auto status = log_here(data, ndata, left); status != PMIX_SUCCESS) return status;
  if (left.size() == 0) {
    client->connection().run_later([done = std::move(done)] { done(PMIX_SUCCESS); });
    return PMIX_SUCCESS;
  }
  auto how = weft::data::Infos::copy_of(directives, ndirs);
  if (!how) return PMIX_ERR_BAD_PARAM;
  client->log_later(std::move(left), std::move(*how), std::move(done));
  return PMIX_SUCCESS;
}

bool is_cleanup(const pmix_info_t* directives, size_t ndirs) {
  for (size_t i = 0; i < ndirs; ++i) {
    const auto key = weft::data::key_of(directives[i]);
    if (key == PMIX_REGISTER_CLEANUP || key == PMIX_REGISTER_CLEANUP_DIR) return true;
  }
  return false;
}

pmix_status_t job_control(const pmix_info_t* directives, size_t ndirs) {
  auto* client = roles().client();
  if (client == nullptr) return PMIX_ERR_INIT;
  if (directives == nullptr || ndirs == 0) return PMIX_ERR_BAD_PARAM;
  if (!is_cleanup(directives, ndirs)) return PMIX_ERR_NOT_SUPPORTED;
  return client->cleanup(directives, ndirs);
}

}  // namespace

/// PMIx_Log: PMIX_LOG_STDERR and PMIX_LOG_STDOUT (char*) appear on the caller's own channels; other records go to the
/// host, if it takes any. Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_SUPPORTED, _LOST_CONNECTION.
/// Not yet: records for others than stdout and stderr where the host takes no log; directives for these two.
pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirs) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr) return PMIX_ERR_INIT;
    return role->await([&](const weft::abi::Role::Done& done) {
      const auto started = log_later(data, ndata, directives, ndirs, done);
      if (started != PMIX_SUCCESS) done(started);
    });
  });
}

/// Not yet: records for others than stdout and stderr where the host takes no log; directives for these two.
pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                          size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    return log_later(data, ndata, directives, ndirs, [cbfunc, cbdata](pmix_status_t status) {
      if (cbfunc != nullptr) cbfunc(status, cbdata);
    });
  });
}

/// PMIx_Job_control: PMIX_REGISTER_CLEANUP and PMIX_REGISTER_CLEANUP_DIR (absolute paths, separated by commas) with
/// PMIX_CLEANUP_RECURSIVE, _EMPTY, _IGNORE, _LEAVE_TOPDIR: removed when the caller is gone, however it went.
/// Other directives: PMIX_ERR_NOT_SUPPORTED.
/// Not yet: anything but clean-up, and this for the caller only, whatever the targets.
pmix_status_t PMIx_Job_control(const pmix_proc_t[], size_t, const pmix_info_t directives[], size_t ndirs,
                               pmix_info_t** results, size_t* nresults) {
  return guarded_status([&]() -> pmix_status_t {
    const auto status = job_control(directives, ndirs);
    if (status != PMIX_SUCCESS) return status;
    if (results != nullptr) *results = nullptr;
    if (nresults != nullptr) *nresults = 0;
    return PMIX_SUCCESS;
  });
}

/// PMIx_Job_control_nb: returns PMIX_SUCCESS exactly, callback or not (Observed: Open MPI 4.1.4 takes any other
/// value, also PMIX_OPERATION_SUCCEEDED, for a failure).
/// Not yet: anything but clean-up, and this for the caller only, whatever the targets.
pmix_status_t PMIx_Job_control_nb(const pmix_proc_t[], size_t, const pmix_info_t directives[], size_t ndirs,
                                  pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    const auto status = job_control(directives, ndirs);
    if (status == PMIX_SUCCESS && cbfunc != nullptr)
      weft::abi::run_later([=] { cbfunc(PMIX_SUCCESS, nullptr, 0, cbdata, nullptr, nullptr); });
    return status;
  });
}
