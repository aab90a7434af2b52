// SPDX-License-Identifier: BSD-3-Clause
// A tool, a process of no job: what PMIx_tool_init makes and PMIx_tool_finalize ends. All calls from any
// thread.
//
// A server lets a tool in by what the kernel reports of its user. No job counts a tool: no fence waits for
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/client/connection/connection.hpp"
#include "core/client/connection/outputs.hpp"
#include "core/client/connection/server_events.hpp"
#include "core/client/get/kept_values.hpp"
#include "core/client/get/resolve.hpp"
#include "core/client/tool/server_search.hpp"
#include "core/events/registry.hpp"
#include "core/store/get/get_decision.hpp"
#include "core/store/get/local_values.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::client {

class Tool {
 public:
  /// A server that is there but says nothing, because it is stopped or has another thing to do.
  static constexpr std::chrono::seconds patience{10};
  using Done = std::function<void(pmix_status_t)>;
  using Answered = std::function<void(pmix_status_t, data::Infos)>;

  struct Started {
    std::unique_ptr<Tool> tool;  ///< NULL: see status
    pmix_status_t status;
  };
  /// self: without a namespace the server gives it a name; version: of this library. status: that of
  /// find_server().
  static Started start(const ServerWish& wish, const pmix_proc_t& self, std::string version);
  ~Tool();
  /// Calls that wait end; later ones, too.
  void stop();

  const pmix_proc_t& self() const noexcept { return self_; }
  bool is_connected();

  // Servers. One of them is the primary, to which requests go: the first, until another is chosen.
  /// Connects to one more; a server that is named and known already stays as it is. server: written on
  /// PMIX_SUCCESS.
  pmix_status_t attach(const ServerWish& wish, pmix_proc_t& server);
  /// PMIX_ERR_NOT_FOUND: it is not connected to that one.
  pmix_status_t disconnect(const pmix_proc_t& server);
  /// waits: until the tool is connected to it; PMIX_ERR_NOT_FOUND, _TIMEOUT, _INIT (the tool ends).
  pmix_status_t set_primary(const pmix_proc_t& server, bool waits, data::Timeout timeout);
  /// The primary first, the others in the order in which they came.
  std::vector<pmix_proc_t> servers();
  /// The name of the primary server; nothing: there is none.
  std::optional<pmix_proc_t> server_name();
  /// The connection that requests go by; null: there is no primary.
  std::shared_ptr<Connection> server_connection();

  /// key empty: everything the server says about proc. found: written on PMIX_SUCCESS only.
  pmix_status_t get(const pmix_proc_t& proc, std::string_view key, const pmix_info_t* infos,
                    std::size_t ninfo, const store::GetDirectives& how, data::Value& found);
  void get_later(const pmix_proc_t& proc, std::string key, data::Infos infos,
                 std::function<void(pmix_status_t, data::Value)> done);
  pmix_status_t store_internal(const pmix_proc_t& proc, std::string_view key, const pmix_value_t& value);
  pmix_value_t* keep(data::Value value) { return kept_.keep(std::move(value)); }
  pmix_status_t resolve_peers(std::string_view node, std::string_view nspace, std::vector<pmix_proc_t>& out);
  pmix_status_t resolve_nodes(std::string_view nspace, std::string& out);

  events::Registry& events() noexcept { return *handlers_; }
  /// For a server in this process.
  const std::shared_ptr<events::Registry>& shared_events() const noexcept { return handlers_; }
  void subscribe(std::size_t handler, std::vector<pmix_status_t> codes, Done done);
  void notify(events::Event event, Done done);
  Outputs& outputs() noexcept { return outputs_; }

  /// done: on the thread. Servers that can be reached are answered here (PMIX_QUERY_AVAIL_SERVERS), the rest
  /// there.
  void query_later(link::Query query, Answered done);

  // The thread of the server that requests go to; without a server there is one, too.
  /// Calls start(done) and waits for the status that done is called with; PMIX_ERR_TIMEOUT after `patience`.
  pmix_status_t await(const std::function<void(Done)>& start);
  bool on_thread();
  void run_later(std::function<void()> task);
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
    Server(FoundServer found, Tool& tool);
    const KnownServer known;
    std::atomic<bool> is_left{false};  ///< by the tool: its loss is no event
    ServerEvents events;
    Connection connection;  ///< last: its thread uses the others
  };
  using ServerRef = std::shared_ptr<Server>;

  Tool(const pmix_proc_t& self, std::string version);
  void add(FoundServer found, bool becomes_primary);
  std::vector<KnownServer> known_servers();
  ServerRef find_locked(const pmix_proc_t& server);
  void leave_locked(const ServerRef& server);
  void free_left_servers();
  ServerRef primary();
  std::vector<std::shared_ptr<Connection>> connections_locked();
  std::shared_ptr<Connection> working_connection();
  void unsubscribe(std::size_t handler);
  void on_push(Server& from, const link::Frame& frame);
  Getter getter();
  Result<data::Value> known_value(const pmix_proc_t& proc, std::string_view key) const;

  const pmix_proc_t self_;
  Outputs outputs_;
  store::LocalValues private_;
  KeptValues kept_;
  const std::shared_ptr<Connection> idle_;  ///< the thread of a tool without a server

  const std::string version_;
  std::mutex attaching_;  ///< one attach() at a time: no server is connected twice
  std::mutex mutex_;      // guards all below
  std::condition_variable changed_;
  std::vector<ServerRef> servers_;  ///< oldest first
  std::vector<ServerRef> left_;     ///< calls may still use them
  ServerRef primary_;               ///< one of servers_; null: none is chosen
  bool is_driven_by_calls_ = false;
  bool is_stopped_ = false;
  const std::shared_ptr<events::Registry> handlers_;  ///< last: it ends before what its chains go on by
};

}  // namespace weft::client
