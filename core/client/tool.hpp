// SPDX-License-Identifier: BSD-3-Clause
// A tool, a process of no job: what PMIx_tool_init makes and PMIx_tool_finalize ends. All calls from any
// thread.
//
// A server lets it in by the kernel's word about its user. It is counted nowhere: no fence waits for it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "core/client/connection.hpp"
#include "core/link/messages.hpp"
#include "core/link/servers.hpp"

namespace weft::client {

/// done: on the connection's thread, once; PMIX_ERR_LOST_CONNECTION: there is no server, or it went.
void query_through(Connection& connection, const link::Query& query,
                   std::function<void(pmix_status_t, data::Infos)> done);

class Tool {
 public:
  /// A server that is there but says nothing, because it is stopped or has another thing to do.
  static constexpr std::chrono::seconds patience{10};
  using Answered = std::function<void(pmix_status_t, data::Infos)>;

  struct Wish {
    pmix_proc_t self{};           ///< without a namespace: it gets a name of its own
    std::optional<pid_t> server;  ///< nothing: the only one of this user
    bool connects = true;
    bool is_optional = false;  ///< without a server it is a tool all the same
  };
  struct Started {
    std::unique_ptr<Tool> tool;  ///< NULL: see status
    pmix_status_t status;
  };
  /// status: PMIX_ERR_UNREACH (no such server in this network namespace), _NO_PERMISSIONS (of another user),
  /// _NOT_SUPPORTED (another release), _TIMEOUT (it does not answer), _BAD_PARAM (several servers, and none is named).
  static Started start(const Wish& wish);
  ~Tool();
  /// Calls that wait end; later ones, too.
  void stop() { connection_->stop(); }

  const pmix_proc_t& self() const noexcept { return self_; }
  bool is_connected() noexcept { return connection_->alive(); }

  /// done: on the thread. Servers that can be reached are answered here (PMIX_QUERY_AVAIL_SERVERS), the rest there.
  void query_later(link::Query query, Answered done);
  /// Calls start(done) and waits for the status that done is called with; PMIX_ERR_TIMEOUT after `patience`.
  pmix_status_t await(const std::function<void(std::function<void(pmix_status_t)>)>& start) {
    return connection_->await_status(start, patience);
  }
  bool on_thread() const noexcept { return connection_->on_thread(); }

  void run_later(std::function<void()> task) { connection_->run_later(std::move(task)); }

 private:
  struct Server {
    shm::Fd socket;
    pmix_proc_t name{};
    pid_t pid = 0;  ///< as it stands in the socket's name, by which it is found again
  };
  explicit Tool(const pmix_proc_t& self);
  static Result<Server> shake_hands(const link::ServerSocket& at, bool is_named);
  static Result<std::vector<Server>> reachable(std::optional<pid_t> pid);

  pmix_proc_t self_{};
  std::unique_ptr<Connection> connection_;
};

}  // namespace weft::client
