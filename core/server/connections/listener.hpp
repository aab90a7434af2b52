// SPDX-License-Identifier: BSD-3-Clause
// The socket at which clients and tools find their server. The loop's thread only.
#pragma once

#include <sys/socket.h>

#include <asio/io_context.hpp>
#include <asio/local/stream_protocol.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "core/server/connections/socket_file.hpp"

namespace weft::server {

class Listener {
 public:
  struct Events {
    /// Whether this process may speak at all, by the kernel's word; of another nothing is read, and it costs
    /// one accept().
    std::function<bool(const ucred&)> is_expected;
    std::function<void(base::Fd)> accepted;
  };
  /// socket: it listens and does not block.
  Listener(asio::io_context& loop, base::Fd socket, Events events);

  /// A second socket, which is a file in that folder; processes are accepted there also where the host
  /// accepts at the first. folder: empty: there is none. Errors: those of SocketFile::listen(), said in the
  /// log.
  Result<void> listen_in(const std::string& folder, const std::string& name);
  /// Where that is; empty: there is none.
  const std::string& file() const noexcept { return file_.path(); }
  int native_handle() { return acceptor_.native_handle(); }
  /// A process that another has accepted at this socket.
  void take(base::Fd fd);
  /// Accepts from here on, as long as the loop turns.
  void start();
  /// Accepts the processes that have connected by now, and none that connects meanwhile for ever.
  void accept_waiting();
  /// A process that connects from here on finds no server, and what another accepts at this socket fails.
  void stop();

 private:
  enum class Outcome { accepted, none, shortage };
  Outcome accept_one();
  void wait_for_room(int shortage);
  void refuse_one();

  asio::io_context& loop_;
  asio::local::stream_protocol::acceptor acceptor_;
  Events events_;
  SocketFile file_;
  std::unique_ptr<Listener> at_file_;  ///< null: there is no second socket
  base::Fd spare_;  ///< given up for the moment in which a client is told that there is no descriptor left
  std::optional<std::chrono::steady_clock::time_point> full_since_;
};

}  // namespace weft::server
