// SPDX-License-Identifier: BSD-3-Clause
// A host that accepts the processes that connect, in the server's place: the upcall `listener` of its module.
// Source: PMIx Standard, chapter "Server-specific interfaces", pmix_server_listener_fn_t.
//
// The host is given the listening socket, which does not block, and hands each socket that it has accepted to
// a callback: from any thread, also when the server has ended. A socket that it hands over is the server's
// from then on.
#pragma once

#include <asio/io_context.hpp>
#include <cstdint>
#include <functional>

#include "base/fd.hpp"
#include "pmix_server.h"

namespace weft::server {

class HostListener {
 public:
  /// take: on the loop, for each socket that the host brings.
  using Take = std::function<void(base::Fd)>;
  HostListener(asio::io_context& loop, Take take);
  /// A socket that comes from here on is closed.
  ~HostListener();
  HostListener(const HostListener&) = delete;
  HostListener& operator=(const HostListener&) = delete;

  /// Calls the host. False: it does not accept, so the server has to.
  bool hand_over(pmix_server_listener_fn_t listener, int socket);

 private:
  static void on_accepted(int fd, void* number);
  void bring(base::Fd fd);

  asio::io_context& loop_;
  const Take take_;
  const std::uintptr_t number_;  ///< the host's word for this object, which may have gone
};

}  // namespace weft::server
