// SPDX-License-Identifier: BSD-3-Clause
// How an entry point asks the server's host for something: a message of core/link/requests.hpp, waiting or with a callback.
#pragma once

#include "core/abi/guard.hpp"
#include "core/abi/role.hpp"
#include "core/client/request.hpp"

namespace weft::abi {

/// The client of this process, which has a server with a host. Else null, and why: PMIX_ERR_INIT, PMIX_ERR_UNREACH (a singleton),
/// PMIX_ERR_NOT_SUPPORTED (a server, whose host has to be asked by itself; a tool).
client::Client* asker(pmix_status_t& why_not) noexcept;

/// The body of an entry point that asks a host: not begun where there is none to ask.
template <class Body>
pmix_status_t guarded_ask(Body&& body, const char* function = __builtin_FUNCTION()) noexcept {
  return guarded_status(
      [&]() -> pmix_status_t {
        pmix_status_t why_not = PMIX_SUCCESS;
        return asker(why_not) == nullptr ? why_not : std::forward<Body>(body)();
      },
      function);
}

/// done(answer) runs on the library's thread. Another status than PMIX_SUCCESS: it never will.
template <class Message>
pmix_status_t ask_later(const Message& message, std::function<void(link::Answer)> done) {
  pmix_status_t why_not = PMIX_SUCCESS;
  auto* client = asker(why_not);
  if (client == nullptr) return why_not;
  client::request(client->connection(), message, std::move(done));
  return PMIX_SUCCESS;
}

/// The same for a pmix_op_cbfunc_t, which may be NULL.
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
  auto* client = asker(why_not);
  return client == nullptr ? why_not : client::tell(client->connection(), message);
}

template <class Message>
link::Answer ask(const Message& message) {
  link::Answer out;
  auto* client = asker(out.status);
  return client == nullptr ? std::move(out) : client::ask(client->connection(), message);
}

/// Directives of a caller. PMIX_ERR_BAD_PARAM: there are none where some are said to be, or one that is no value.
pmix_status_t copy_infos(const pmix_info_t* infos, std::size_t ninfo, data::Infos& out);
/// Processes of a caller; none is an error.
pmix_status_t copy_procs(const pmix_proc_t* procs, std::size_t nprocs, std::vector<pmix_proc_t>& out);

}  // namespace weft::abi
