// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Job management and reporting": log.
#include <syslog.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/role.hpp"
#include "core/client/connection/request.hpp"
#include "core/link/log_style.hpp"
#include "pmix.h"

using weft::abi::guarded_status;
using weft::abi::roles;
using weft::data::Infos;
using weft::link::LogStyle;

namespace {

using Done = std::function<void(pmix_status_t)>;

/// A channel of this process itself, whose output the launcher forwards like any other.
struct Channel {
  std::FILE* file;
  const char* name;
};
std::optional<Channel> channel_of(std::string_view key) {
  if (key == PMIX_LOG_STDERR) return Channel{stderr, "stderr"};
  if (key == PMIX_LOG_STDOUT) return Channel{stdout, "stdout"};
  return std::nullopt;
}

/// Records that the syslog of this node takes where the host takes no log.
bool is_for_syslog(std::string_view key) {
  return key == PMIX_LOG_SYSLOG || key == PMIX_LOG_LOCAL_SYSLOG;
}

/// The rest of one call: its records from `next` on.
struct Call {
  Infos data, directives;
  LogStyle style;
  Done done;
  weft::abi::Role* role;
  size_t next = 0;
};
using CallRef = std::shared_ptr<Call>;

bool is_text(const pmix_value_t& value) {
  return value.type == PMIX_STRING && value.data.string != nullptr;
}

void print(const Call& call, const Channel& channel, const pmix_value_t& value) {
  std::fputs(call.style.styled(channel.name, value.data.string).c_str(), channel.file);
  std::fflush(channel.file);
}

/// Nothing: no record of its, or no syslog is here.
bool print_to_syslog(const Call& call, const pmix_info_t& record) {
  if (!is_for_syslog(weft::data::key_of(record)) || ::access(_PATH_LOG, W_OK) != 0) return false;
  ::syslog(call.style.priority, "%s", call.style.styled("syslog", record.value.data.string).c_str());
  return true;
}

/// No server, or a host that takes no log.
bool is_no_taker(pmix_status_t status) {
  return status == PMIX_ERR_NOT_SUPPORTED || status == PMIX_ERR_UNREACH;
}

void end_later(const CallRef& call, pmix_status_t status) {
  call->role->run_later([call, status] { call->done(status); });
}

void ask_server(const CallRef& call, Infos records, Done done) {
  auto how = Infos::copy_of(call->directives.data(), call->directives.size());
  pmix_status_t why_not = PMIX_ERR_NOMEM;
  const auto connection = how ? call->role->server_connection(why_not) : nullptr;
  if (connection == nullptr)
    return call->role->run_later([done = std::move(done), why_not] { done(why_not); });
  weft::client::request_log(*connection, {std::move(records), std::move(*how)}, std::move(done));
}

/// PMIX_LOG_ONCE: the records in their order, until a channel has taken one.
void log_once(const CallRef& call) {
  if (call->next == call->data.size()) return end_later(call, PMIX_ERR_NOT_SUPPORTED);
  const auto& record = call->data.data()[call->next++];
  if (const auto channel = channel_of(weft::data::key_of(record))) {
    print(*call, *channel, record.value);
    return end_later(call, PMIX_SUCCESS);
  }
  Infos one;
  auto value = weft::data::Value::copy_of(record.value);
  if (!value) return end_later(call, PMIX_ERR_BAD_PARAM);
  one.add(weft::data::key_of(record), std::move(*value));
  ask_server(call, std::move(one), [call, &record](pmix_status_t status) {
    const bool is_taken = status == PMIX_SUCCESS || (is_no_taker(status) && print_to_syslog(*call, record));
    is_taken ? call->done(PMIX_SUCCESS) : log_once(call);
  });
}

/// Prints the records of a call that has no host to take them.
void log_here(const CallRef& call, pmix_status_t status) {
  std::size_t taken = 0, left = 0;
  for (size_t i = 0; i < call->data.size(); ++i) {
    const auto& record = call->data.data()[i];
    if (channel_of(weft::data::key_of(record)) || print_to_syslog(*call, record))
      ++taken;
    else
      ++left;
  }
  if (left == 0) status = PMIX_SUCCESS;
  call->done(left != 0 && taken != 0 ? PMIX_ERR_PARTIAL_SUCCESS : status);
}

/// Prints what goes to this process's own channels; what is left is for the server, and where it has no
/// taker, for the syslog.
void log_all(const CallRef& call) {
  Infos left;
  for (size_t i = 0; i < call->data.size(); ++i) {
    auto& record = call->data.data()[i];
    if (const auto channel = channel_of(weft::data::key_of(record))) {
      print(*call, *channel, record.value);
      continue;
    }
    auto value = weft::data::Value::copy_of(record.value);
    if (!value) return end_later(call, PMIX_ERR_BAD_PARAM);
    left.add(weft::data::key_of(record), std::move(*value));
  }
  if (left.size() == 0) return end_later(call, PMIX_SUCCESS);
  ask_server(call, std::move(left), [call](pmix_status_t status) {
    is_no_taker(status) ? log_here(call, status) : call->done(status);
  });
}

/// PMIX_SUCCESS: done will be called.
pmix_status_t log_later(const pmix_info_t* data, size_t ndata, const pmix_info_t* directives, size_t ndirs,
                        Done done) {
  auto* role = roles().requesting();
  if (role == nullptr || role->outputs() == nullptr) return PMIX_ERR_INIT;
  if (data == nullptr || ndata == 0 || (directives == nullptr && ndirs != 0)) return PMIX_ERR_BAD_PARAM;
  bool is_all_here = true;
  for (size_t i = 0; i < ndata; ++i) {
    const auto key = weft::data::key_of(data[i]);
    const bool is_here = channel_of(key).has_value();
    is_all_here &= is_here;
    const bool is_a_line = is_here || is_for_syslog(key) || key == PMIX_LOG_GLOBAL_SYSLOG;
    if (is_a_line && !is_text(data[i].value)) return PMIX_ERR_BAD_PARAM;
  }
  // Where a record goes to the host, the host judges its directives.
  if (is_all_here && weft::data::first_not_understood("PMIx_Log", directives, ndirs) != nullptr)
    return PMIX_ERR_NOT_SUPPORTED;
  auto records = Infos::copy_of(data, ndata);
  auto how = Infos::copy_of(directives, ndirs);
  if (!records || !how) return PMIX_ERR_BAD_PARAM;
  const auto call = std::make_shared<Call>();
  call->data = std::move(*records);
  call->directives = std::move(*how);
  call->style = LogStyle::of(directives, ndirs);
  if (!call->style.is_valid()) return PMIX_ERR_BAD_PARAM;
  call->done = std::move(done);
  call->role = role;
  call->style.once ? log_once(call) : log_all(call);
  return PMIX_SUCCESS;
}

}  // namespace

/// PMIx_Log: PMIX_LOG_STDERR and PMIX_LOG_STDOUT (char*) appear on the caller's own channels, a singleton's
/// too; other records go to the host, if it takes any. Where it takes none, PMIX_LOG_LOCAL_SYSLOG (char*)
/// goes to the syslog of the caller's node, PMIX_LOG_GLOBAL_SYSLOG (char*) to that of the run's first node,
/// where the record names process and host, and PMIX_LOG_SYSLOG to the latter or else to the former. There is
/// no taker of PMIX_LOG_EMAIL, _JOB_RECORD and _GLOBAL_DATASTORE then.
///   directives  PMIX_LOG_ONCE: the first channel that takes its record is the last. For the caller's own
///               channels: PMIX_LOG_TAG_OUTPUT ("stdout: "), PMIX_LOG_TIMESTAMP (time_t) and
///               _TIMESTAMP_OUTPUT, _GENERATE_TIMESTAMP (the time in front), PMIX_LOG_XML_OUTPUT (an element
///               with the channel's name). For the syslog also PMIX_LOG_SYSLOG_PRI (int, 0 to 7; LOG_ERR).
///               Others go to the host
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_SUPPORTED, _UNREACH (a record that no own channel takes, and no
///   server), _PARTIAL_SUCCESS, _LOST_CONNECTION
///   Source: PMIx Standard, chapter "Job Management and Reporting". Tests: tests/multiproc/event/log_test.cpp
pmix_status_t PMIx_Log(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[], size_t ndirs) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().requesting();
    if (role == nullptr) return PMIX_ERR_INIT;
    return role->await([&](const weft::abi::Role::Done& done) {
      const auto started = log_later(data, ndata, directives, ndirs, done);
      if (started != PMIX_SUCCESS) done(started);
    });
  });
}

pmix_status_t PMIx_Log_nb(const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                          size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    return log_later(data, ndata, directives, ndirs, [cbfunc, cbdata](pmix_status_t status) {
      if (cbfunc != nullptr) cbfunc(status, cbdata);
    });
  });
}
