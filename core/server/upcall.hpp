// SPDX-License-Identifier: BSD-3-Clause
// Calling the host in both of its completion styles: at once (PMIX_OPERATION_SUCCEEDED or an error is the answer,
// the callback never comes) or later (PMIX_SUCCESS, then exactly one callback, from any thread).
#pragma once

#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <functional>
#include <memory>

#include "pmix_server.h"

namespace weft::server {

/// One open call. The host holds it as its opaque pointer; whichever side ends it frees it.
template <class... Answer>
class Upcall {
 public:
  using Done = std::function<void(pmix_status_t, Answer...)>;

  Upcall(asio::io_context& loop, Done done) : loop_(loop), done_(std::move(done)) {}

  /// On the loop thread. call(pointer): the host's function. done runs on the loop thread, exactly once; before
  /// make() returns if the host answered at once.
  template <class Call>
  static void make(asio::io_context& loop, Done done, Call&& call) {
    auto* open = new Upcall(loop, std::move(done));
    const pmix_status_t status = call(static_cast<void*>(open));
    if (status == PMIX_SUCCESS) return;  // the callback follows, or came already
    const std::unique_ptr<Upcall> ended(open);
    ended->done_(status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status, Answer{}...);
  }
  static void finish_from_host(void* pointer, pmix_status_t status, Answer... answer) {
    static_cast<Upcall*>(pointer)->finish(status, std::move(answer)...);
  }

 private:
  void finish(pmix_status_t status, Answer... answer) {
    asio::post(loop_, [done = std::move(done_), status, ... answer = std::move(answer)]() mutable {
      done(status, std::move(answer)...);
    });
    delete this;
  }

  asio::io_context& loop_;
  Done done_;
};

using OpUpcall = Upcall<>;

/// The pmix_op_cbfunc_t of an OpUpcall.
inline void on_op_done(pmix_status_t status, void* pointer) { OpUpcall::finish_from_host(pointer, status); }

}  // namespace weft::server
