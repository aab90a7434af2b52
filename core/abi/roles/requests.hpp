// SPDX-License-Identifier: BSD-3-Clause
// How an entry point asks the server's host for something: a message of core/link/requests.hpp, waiting or
// with a callback.
#pragma once

#include "core/abi/calls/guard.hpp"
#include "core/abi/roles/role.hpp"
#include "core/client/connection/request.hpp"

namespace weft::abi {

/// The way to a server with a host, of this client or tool. Null sets why_not: PMIX_ERR_INIT,
/// PMIX_ERR_UNREACH (a singleton, or a tool without a server), PMIX_ERR_NOT_SUPPORTED (a server, whose host
/// has to be asked by itself).
std::shared_ptr<client::Connection> way_to_host(pmix_status_t& why_not);

/// The body of an entry point that asks a host: not begun where there is none to ask.
template <class Body>
pmix_status_t guarded_ask(Body&& body, EntryPoint entry_point = {}) noexcept {
  return guarded_status(
      [&]() -> pmix_status_t {
        pmix_status_t why_not = PMIX_SUCCESS;
        return way_to_host(why_not) == nullptr ? why_not : std::forward<Body>(body)();
      },
      entry_point);
}

/// done(answer) runs on the library's thread. Returns PMIX_SUCCESS, or another status: done never runs then.
template <class Message>
pmix_status_t ask_later(const Message& message, std::function<void(link::Answer)> done) {
  pmix_status_t why_not = PMIX_SUCCESS;
  const auto connection = way_to_host(why_not);
  if (connection == nullptr) return why_not;
  client::request(*connection, message, std::move(done));
  return PMIX_SUCCESS;
}

/// As ask_later(), with a pmix_op_cbfunc_t, which may be NULL.
template <class Message>
pmix_status_t ask_later(const Message& message, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return ask_later(message, [cbfunc, cbdata](const link::Answer& answer) {
    if (cbfunc != nullptr) cbfunc(answer.status, cbdata);
  });
}

/// Without an answer.
template <class Message>
pmix_status_t tell(const Message& message) {
  pmix_status_t why_not = PMIX_SUCCESS;
  const auto connection = way_to_host(why_not);
  return connection == nullptr ? why_not : client::tell(*connection, message);
}

template <class Message>
link::Answer ask(const Message& message) {
  link::Answer out;
  const auto connection = way_to_host(out.status);
  return connection == nullptr ? std::move(out) : client::ask(*connection, message);
}

/// Directives of a caller. PMIX_ERR_BAD_PARAM: there are none where some are said to be, or one that is no
/// value.
pmix_status_t copy_infos(const pmix_info_t* infos, std::size_t ninfo, data::Infos& out);
/// Processes of a caller, as the host calls them (native_procs.hpp); none is an error.
pmix_status_t copy_procs(const pmix_proc_t* procs, std::size_t nprocs, std::vector<pmix_proc_t>& out);

}  // namespace weft::abi
