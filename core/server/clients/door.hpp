// SPDX-License-Identifier: BSD-3-Clause
// Where clients and tools come in: the sockets at which they connect, which users may, and the connections
// there are. The loop's thread only, but for stop_taking().
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/server/cluster/cluster.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/connections/host_listener.hpp"
#include "core/server/connections/listener.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/server/loop/loop.hpp"
#include "core/server/loop/loop_watch.hpp"

namespace weft::server {

class Door {
 public:
  /// owner: of the connections; on_closed() of it calls remove().
  Door(Loop& loop, LoopWatch& watch, const Jobs& jobs, Cluster& cluster, ClientConnection::Owner& owner);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  /// At a name, and in a folder, unless that is empty. Before all else. Errors: those of link::listen_on()
  /// and Listener::listen_in().
  Result<void> listen(const std::string& name, const std::string& folder);
  /// The socket that is a file; empty: there is none.
  const std::string& file() const noexcept { return listener_->file(); }
  /// by_host: the host accepts, where it takes that on; null: the server does. The socket stays the server's
  /// in both cases: it looks itself for processes that wait there unaccepted (after_hellos).
  void accept(pmix_server_listener_fn_t by_host);

  /// Calls `then` when the hello of each process that has connected by now has been handled: one that has
  /// ended already may have left it unread. Processes that connect from here on, or say nothing, are not
  /// waited for.
  void after_hellos(std::function<void()> then);
  /// One that is closed.
  void remove(const ConnectionRef& connection);
  bool has_connections() const noexcept { return !connections_.empty(); }

  // The end, in this order:
  /// What the host accepts from here on is closed. Not on the loop's thread alone.
  void stop_taking() { host_listener_.reset(); }
  /// A process that connects from here on finds no server.
  void close() { listener_->stop(); }
  /// Each connection closes when what has been exchanged on it is through.
  void close_connections();

 private:
  bool may_connect(uid_t user) const;
  void open(base::Fd fd);
  void await_hellos(std::vector<std::weak_ptr<ClientConnection>> unread, Loop::TimePoint limit,
                    std::function<void()> then);

  Loop& loop_;
  LoopWatch& watch_;
  const Jobs& jobs_;
  Cluster& cluster_;
  ClientConnection::Owner& owner_;
  std::unique_ptr<Listener> listener_;
  std::optional<HostListener> host_listener_;  ///< the host accepts
  std::vector<ConnectionRef> connections_;
  bool is_closing_ = false;
};

}  // namespace weft::server
