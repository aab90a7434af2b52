// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Event notification".
#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/native_procs.hpp"
#include "core/abi/roles/role.hpp"
#include "pmix.h"

using weft::abi::guarded_directives;
using weft::abi::guarded_status;
using weft::abi::roles;
using Done = weft::abi::Role::Done;

namespace {

weft::events::Registry* registry() {
  auto* role = roles().acting();
  return role == nullptr ? nullptr : role->events();
}

pmix_status_t registration_status(const weft::Error& error) {
  return error.code == weft::Errc::no_space ? PMIX_ERR_EVENT_REGISTRATION : weft::abi::to_status(error);
}

}  // namespace

/// PMIx_Register_event_handler: evhdlr runs on the library's thread for each event that matches, and before
/// that for each that has come already and is kept (PMIx_Notify_event), oldest first.
///   codes [ncodes]  none = a default handler
///   cbfunc          told the handler's reference, whatever happens; NULL: the call waits and returns the
///                   reference
///   Errors: PMIX_ERR_INIT, _BAD_PARAM, _NOT_SUPPORTED (a required attribute), _EVENT_REGISTRATION (the only
///   first or last place is taken)
pmix_status_t PMIx_Register_event_handler(pmix_status_t codes[], size_t ncodes, pmix_info_t info[],
                                          size_t ninfo, pmix_notification_fn_t evhdlr,
                                          pmix_hdlr_reg_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    auto* role = roles().acting();
    auto* events = registry();
    if (events == nullptr) return PMIX_ERR_INIT;
    if ((codes == nullptr && ncodes != 0) || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
    const auto id = events->add({codes, ncodes}, {info, ninfo}, evhdlr);
    if (!id) {
      const auto status = registration_status(id.error());
      // Observed (docs/design/openmpi.md): callers wait for the callback even when the call itself failed.
      if (cbfunc != nullptr) weft::abi::run_later([=] { cbfunc(status, 0, cbdata); });
      return status;
    }
    if (cbfunc != nullptr) {
      role->subscribe(*id, {codes, codes + ncodes}, [=](pmix_status_t status) {
        auto* live = registry();
        if (status != PMIX_SUCCESS && live != nullptr) (void)live->remove(*id);
        cbfunc(status, *id, cbdata);
        if (auto* still = registry(); still != nullptr && still->activate(*id)) still->catch_up(*id);
      });
      return PMIX_SUCCESS;
    }
    // A handler or callback is calling: it must not wait for what only its own thread can bring.
    if (role->on_thread()) {
      role->subscribe(*id, {codes, codes + ncodes}, [](pmix_status_t) {});
    } else {
      const auto status = role->await([&](Done done) {
        role->subscribe(*id, {codes, codes + ncodes}, std::move(done));
      });
      if (status != PMIX_SUCCESS) {
        if (auto* live = registry()) (void)live->remove(*id);
        return status;
      }
    }
    // Not on this thread, which may hold what the handler waits for.
    if (events->activate(*id))
      weft::abi::run_later([id = *id] {
        if (auto* still = registry()) still->catch_up(id);
      });
    return static_cast<pmix_status_t>(*id);
  });
}

/// PMIx_Deregister_event_handler: cbfunc is told when the handler does not run any more; NULL: the call
/// waits. The server, and its host where it reports events, hear after that which codes no handler wants any
/// more.
/// Errors: PMIX_ERR_INIT, _BAD_PARAM (no such handler).
pmix_status_t PMIx_Deregister_event_handler(size_t evhdlr_ref, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return guarded_status([&]() -> pmix_status_t {
    auto* events = registry();
    if (events == nullptr) return PMIX_ERR_INIT;
    if (cbfunc != nullptr) {
      const auto removed =
          events->remove(evhdlr_ref, [=] { weft::abi::run_later([=] { cbfunc(PMIX_SUCCESS, cbdata); }); });
      if (removed) return PMIX_SUCCESS;
      weft::abi::run_later([=] { cbfunc(PMIX_ERR_BAD_PARAM, cbdata); });
      return PMIX_ERR_BAD_PARAM;
    }
    const auto status = roles().acting()->await([&](const Done& done) {
      if (!events->remove(evhdlr_ref, [done] { done(PMIX_SUCCESS); })) done(PMIX_ERR_BAD_PARAM);
    });
    if (status != PMIX_SUCCESS) return status;
    return PMIX_OPERATION_SUCCEEDED;
  });
}

/// PMIx_Notify_event: raises an event; own handlers see it too. cbfunc NULL: the call waits for the server's
/// answer.
///   range   PMIX_RANGE_RM: for the host alone, by its notify_event, else by its handlers; a singleton has
///           none: PMIX_ERR_UNREACH
///   info    PMIX_EVENT_DO_NOT_CACHE (bool), _CUSTOM_RANGE, _NON_DEFAULT (bool); others go along.
///           PMIX_EVENT_TIMESTAMP is added
///   Handlers that are registered later hear it once, too, in every process of the range: a server and each
///   process keep the latest 512 events, of at most 1 MiB, a process not those that a handler completed with
///   PMIX_EVENT_ACTION_COMPLETE, unless it is PMIX_MODEL_DECLARED of the process itself
///   (PMIX_RANGE_PROC_LOCAL).
///   Errors: PMIX_ERR_INIT, _BAD_PARAM (also: no such range), _LOST_CONNECTION, and those of the host's
///   notify_event
///   Source: PMIx Standard, chapter "Event Notification". Tests: tests/multiproc/event/event_test.cpp
pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t* source, pmix_data_range_t range,
                                const pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                void* cbdata) {
  return guarded_directives(info, ninfo, [&]() -> pmix_status_t {
    auto* role = roles().acting();
    if (role == nullptr || role->events() == nullptr) return PMIX_ERR_INIT;
    if (!weft::events::is_range(range)) return PMIX_ERR_BAD_PARAM;
    auto infos = weft::data::Infos::copy_of(info, ninfo);
    if (!infos) return PMIX_ERR_BAD_PARAM;
    if (const auto named = weft::abi::make_native(*infos); named != PMIX_SUCCESS) return named;
    weft::events::Event event{status, source != nullptr ? *source : role->self(), range, std::move(*infos)};
    if (cbfunc != nullptr || role->on_thread()) {
      role->notify(std::move(event), [cbfunc, cbdata](pmix_status_t s) {
        if (cbfunc != nullptr) cbfunc(s, cbdata);
      });
      return PMIX_SUCCESS;
    }
    const auto answer = role->await([&](Done done) { role->notify(std::move(event), std::move(done)); });
    return answer == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : answer;
  });
}
