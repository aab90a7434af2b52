// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Client initialization and finalization".
#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/init_directives.hpp"
#include "core/abi/roles/native_procs.hpp"
#include "core/abi/roles/progress.hpp"
#include "core/abi/roles/role.hpp"
#include "core/data/names/directive.hpp"
#include "pmix.h"

using weft::abi::roles;

namespace {

/// What a programming model says of itself in a call of PMIx_Init; empty: no model calls.
weft::Result<weft::data::Infos> declaration_in(const pmix_info_t* infos, std::size_t ninfo) {
  weft::data::Infos said;
  for (const auto* info = infos; info != infos + ninfo; ++info) {
    if (!weft::abi::is_model_key(weft::data::key_of(*info))) continue;
    auto value = weft::data::Value::copy_of(info->value);
    if (!value) return weft::fail(value.error());
    said.add(weft::data::key_of(*info), std::move(*value));
  }
  return said;
}

/// Raises PMIX_MODEL_DECLARED in this process.
void declare_model(weft::client::Client& client, weft::data::Infos said) {
  // No error: default handlers, which take an event for a failure of the job, do not hear of it.
  said.add(PMIX_EVENT_NON_DEFAULT, weft::data::Value::of(true));
  client.notify({PMIX_MODEL_DECLARED, client.self(), PMIX_RANGE_PROC_LOCAL, std::move(said)},
                [](pmix_status_t) {});
}

/// From here on calls of this process are noted, where a launcher traces its job.
void begin_trace(weft::client::Client& client, std::uint64_t begun, pmix_status_t status) {
  using weft::store::TraceLog;
  const auto& log = client.trace();
  if (!log) return;
  log.begin(weft::store::TraceCall::init, TraceLog::no_subject, TraceLog::Thread::stays, begun).end(status);
  weft::abi::call_log.store(&log, std::memory_order_release);
}

/// From here on none is, and the last call that may be is this PMIx_Finalize.
weft::store::TraceLog::Entry end_trace() {
  const auto* const log = weft::abi::call_log.exchange(nullptr, std::memory_order_acq_rel);
  return log == nullptr ? weft::store::TraceLog::Entry() : log->begin(weft::store::TraceCall::finalize);
}

}  // namespace

/// PMIx_Init: makes this process a client of its server, or a singleton. Counted: each call needs a
/// PMIx_Finalize.
///   proc   written with the own name, also for a singleton; may be NULL
///   Returns PMIX_SUCCESS; PMIX_ERR_UNREACH as a singleton, with a library that works for one process;
///   PMIX_ERR_SERVER_NOT_AVAIL where the environment names a server that does not answer (said on stderr),
///   PMIX_ERR_NO_PERMISSIONS where it refuses.
///   Cost: one connect, two mappings, three changes of what is writable in them, a round trip to the server,
///   which asks a host that has client_connected2 (docs/decisions/0005-start-up.md). A singleton: none of
///   these.
///   In the child of a fork the library starts anew: the parent's server refuses a second process as that
///   rank (PMIX_ERR_NO_PERMISSIONS) until the parent has finalized.
///   info   PMIX_EXTERNAL_PROGRESS (bool, first call: core/abi/roles/progress.cpp). The directives of every
///          call are read (RFC 0017): a key to which an earlier call gave another value is
///          PMIX_ERR_BAD_PARAM, and the call is not counted. A call with PMIX_PROGRAMMING_MODEL, another key
///          of models or several raises PMIX_MODEL_DECLARED with them in this process; every handler that is
///          registered for that code later hears it, too.
///          PMIX_DEBUG_STOP_IN_INIT (bool), as job-level data of the server or in the first call: the call
///          tells the server that it waits (PMIX_READY_FOR_DEBUG, PMIX_BREAKPOINT "pmix-init", for the host
///          alone) and returns after PMIX_DEBUGGER_RELEASE, or when a debugger sets `released` in its frame;
///          PMIX_ERR_LOST_CONNECTION where the server ends before.
/// Not yet: other attributes (ignored, refused where required).
pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
  return weft::abi::guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    const auto begun = weft::store::FirstCall::now();
    const weft::abi::Roles::Changing changing(roles());
    auto declared = declaration_in(info, ninfo);
    if (!declared) return weft::abi::to_status(declared.error());
    if (roles().client_count == 0) roles().init_directives = std::make_unique<weft::abi::InitDirectives>();
    pmix_status_t status = roles().init_directives->add(info, ninfo);
    if (status != PMIX_SUCCESS) return status;
    if (roles().client_count == 0) {
      auto started = weft::client::Client::start();
      // Whatever keeps a server that the environment names from answering is one status; PMIX_ERR_UNREACH is
      // a singleton's.
      if (!started)
        return started.error().code == weft::Errc::denied ? weft::abi::to_status(started.error())
                                                          : PMIX_ERR_SERVER_NOT_AVAIL;
      status = started->status;
      const bool is_asked = weft::data::is_set(info, ninfo, PMIX_DEBUG_STOP_IN_INIT);
      if (const auto held = started->client->stop_for_debugger(is_asked); held != PMIX_SUCCESS) return held;
      if (weft::abi::says_external_progress(info, ninfo)) started->client->connection()->stop_thread(false);
      roles().set_client(std::move(started->client));
      begin_trace(*roles().client(), begun, status);
    }
    ++roles().client_count;
    if (proc != nullptr) *proc = roles().client()->self();
    if (declared->size() != 0) declare_model(*roles().client(), std::move(*declared));
    return status;
  });
}

/// PMIx_Finalize: the last one tells the server and forgets everything. PMIX_EMBED_BARRIER (bool) fences
/// first. Calls that other threads are in end, with PMIX_ERR_INIT or _LOST_CONNECTION where they wait; it
/// returns after them. In the child of a fork: PMIX_ERR_INIT, and the parent's library goes on.
pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo) {
  return weft::abi::guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    const weft::abi::Roles::Changing changing(roles());
    if (roles().client_count == 0) return PMIX_ERR_INIT;
    if (--roles().client_count != 0) return PMIX_SUCCESS;
    const auto traced = end_trace();
    const auto status = roles().client()->finalize(info, ninfo);
    traced.end(status);
    roles().set_client(nullptr);
    return status;
  });
}

int PMIx_Initialized(void) {
  return roles().client() != nullptr || roles().server() != nullptr || roles().tool() != nullptr ? 1 : 0;
}

/// Starts with the version of the API that the headers claim: callers compare its first characters.
const char* PMIx_Get_version(void) {
  return "4.2.2 Weft " WEFT_VERSION " (PMIx Standard 4.2, ABI libpmix.so.2)";
}

/// PMIx_Abort: asks the server to end processes (none: the caller's whole job). Returns when the host took
/// note.
pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t nprocs) {
  return weft::abi::guarded_status([&]() -> pmix_status_t {
    auto* client = roles().client();
    if (client == nullptr) return PMIX_ERR_INIT;
    if (procs == nullptr && nprocs != 0) return PMIX_ERR_BAD_PARAM;
    const weft::abi::NativeProcs native(procs, nprocs);
    if (native.status() != PMIX_SUCCESS) return native.status();
    return client->abort(status, weft::abi::text_of(msg, 1u << 16), native.data(), native.size());
  });
}
