// SPDX-License-Identifier: BSD-3-Clause
// The servers that have let a tool in: how they come and go, which one requests go to, and the threads of
// their connections. Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/client/connection/connection.hpp"
#include "core/client/connection/outputs.hpp"
#include "core/client/connection/server_events.hpp"
#include "core/client/tool/server_search.hpp"
#include "core/events/registry.hpp"

namespace weft::client {

class ToolServers {
 public:
  /// self: the tool's name; version: of this library; outputs: where output comes that the tool pulls.
  ToolServers(const pmix_proc_t& self, std::string version, Outputs& outputs);

  /// Connects to one more; a server that is named and known already stays as it is. server: written on
  /// PMIX_SUCCESS.
  pmix_status_t attach(const ServerWish& wish, pmix_proc_t& server);
  /// A server that has let the tool in. The first one is the primary, also where there were others before.
  void add(FoundServer found, bool becomes_primary);
  /// PMIX_ERR_NOT_FOUND: the tool is not connected to that one.
  pmix_status_t disconnect(const pmix_proc_t& server);
  /// waits: until the tool is connected to it; PMIX_ERR_NOT_FOUND, _TIMEOUT, _INIT (the tool ends).
  pmix_status_t set_primary(const pmix_proc_t& server, bool waits, data::Timeout timeout);
  bool is_connected();
  /// The primary first, the others in the order in which they came.
  std::vector<pmix_proc_t> names();

  /// One of the servers is the primary, to which requests go: the first, until another is chosen.
  /// The name of the primary; nothing: there is none.
  std::optional<pmix_proc_t> primary_name();
  /// The connection that requests go by; null: there is no primary.
  std::shared_ptr<Connection> primary_connection();
  /// The events between this process and the primary; null: there is no primary.
  std::shared_ptr<ServerEvents> primary_events();

  /// The connection of the primary, or, without one, that of a thread without a server.
  std::shared_ptr<Connection> working_connection();
  /// The handlers of this process, also for a server in it.
  const std::shared_ptr<events::Registry>& handlers() const noexcept { return handlers_; }

  /// Calls that wait end; later ones, too.
  void stop();
  /// As Connection::stop_thread(), for the connections to all servers, later ones included.
  void stop_thread(bool flushes);
  void progress();
  bool is_driven_by_calls() {
    const std::lock_guard lock(mutex_);
    return is_driven_by_calls_;
  }

 private:
  /// A server that has let this tool in.
  struct Server {
    Server(FoundServer found, ToolServers& of);
    const KnownServer known;
    std::atomic<bool> is_left{false};  ///< by the tool: its loss is no event
    ServerEvents events;
    Connection connection;  ///< last: its thread uses the others
  };
  using ServerRef = std::shared_ptr<Server>;

  std::vector<KnownServer> known_servers();
  ServerRef find_locked(const pmix_proc_t& server);
  void leave_locked(const ServerRef& server);
  void free_left_servers();
  ServerRef primary();
  std::vector<std::shared_ptr<Connection>> connections();
  std::vector<std::shared_ptr<Connection>> connections_locked();
  void unsubscribe(std::size_t handler);
  void on_push(Server& from, const link::Frame& frame);

  const pmix_proc_t self_;
  const std::string version_;
  Outputs& outputs_;
  const std::shared_ptr<Connection> idle_;  ///< the thread of a tool without a server
  std::mutex attaching_;                    ///< one attach() at a time: no server is connected twice
  std::mutex mutex_;                        // guards all below
  std::condition_variable changed_;
  std::vector<ServerRef> servers_;  ///< oldest first
  std::vector<ServerRef> left_;     ///< calls may still use them
  ServerRef primary_;               ///< one of servers_; null: none is chosen
  bool is_driven_by_calls_ = false;
  bool is_stopped_ = false;
  const std::shared_ptr<events::Registry> handlers_;  ///< last: it ends before what its chains go on by
};

}  // namespace weft::client
