// SPDX-License-Identifier: BSD-3-Clause
// A tool, a process of no job: what PMIx_tool_init makes and PMIx_tool_finalize ends. All calls from any thread.
//
// A server lets it in by the kernel's word about its user. It is counted nowhere: no fence waits for it.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/client/connection.hpp"
#include "core/client/kept_values.hpp"
#include "core/client/outputs.hpp"
#include "core/client/resolve.hpp"
#include "core/client/server_events.hpp"
#include "core/client/tool_door.hpp"
#include "core/events/registry.hpp"
#include "core/link/servers.hpp"
#include "core/store/get_decision.hpp"
#include "core/store/local_values.hpp"
#include "core/store/lookup.hpp"

namespace weft::client {

class Tool {
 public:
  /// A server that is there but says nothing, because it is stopped or has another thing to do.
  static constexpr std::chrono::seconds patience{10};
  using Done = std::function<void(pmix_status_t)>;
  using Answered = std::function<void(pmix_status_t, data::Infos)>;

  struct Wish {
    pmix_proc_t self{};           ///< without a namespace: the server gives it a name
    std::string version;          ///< of this library
    std::optional<pid_t> server;  ///< nothing: the only one of this user
    bool connects = true;
    bool is_optional = false;  ///< without a server it is a tool all the same
  };
  struct Started {
    std::unique_ptr<Tool> tool;  ///< NULL: see status
    pmix_status_t status;
  };
  /// status: PMIX_ERR_UNREACH (no such server in this network namespace), _NO_PERMISSIONS (of another user),
  /// _NOT_SUPPORTED (another release), _TIMEOUT (it does not answer), _BAD_PARAM (several servers, and none is named); what
  /// the server's host says.
  static Started start(const Wish& wish);
  ~Tool();
  /// Calls that wait end; later ones, too.
  void stop();

  const pmix_proc_t& self() const noexcept { return self_; }
  bool is_connected();
  /// The connection that requests go by; null: there is no server.
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

  events::Registry& events() noexcept { return handlers_; }
  void subscribe(std::vector<pmix_status_t> codes, Done done);
  void notify(events::Event event, Done done);
  Outputs& outputs() noexcept { return outputs_; }

  /// done: on the thread. Servers that can be reached are answered here (PMIX_QUERY_AVAIL_SERVERS), the rest there.
  void query_later(link::Query query, Answered done);

  // The thread of the server that requests go to; without a server there is one, too.
  /// Calls start(done) and waits for the status that done is called with; PMIX_ERR_TIMEOUT after `patience`.
  pmix_status_t await(const std::function<void(Done)>& start);
  bool on_thread();
  void run_later(std::function<void()> task);

 private:
  /// A server that has let this tool in.
  struct Server {
    Server(const pmix_proc_t& server, base::Fd socket, Tool& tool);
    const pmix_proc_t name;
    ServerEvents events;
    Connection connection;  ///< last: its thread uses the others
  };
  using ServerRef = std::shared_ptr<Server>;

  explicit Tool(const pmix_proc_t& self);
  static Greeting greet(const Wish& wish);
  void add(Greeting greeting);
  ServerRef primary();
  std::shared_ptr<Connection> working_connection();
  void on_push(Server& from, const link::Frame& frame);
  Getter getter();
  Result<data::Value> known_value(const pmix_proc_t& proc, std::string_view key) const;

  const pmix_proc_t self_;
  Outputs outputs_;
  events::Registry handlers_;
  store::LocalValues private_;
  KeptValues kept_;
  const std::shared_ptr<Connection> idle_;  ///< the thread of a tool without a server

  std::mutex mutex_;
  ServerRef primary_;
};

}  // namespace weft::client
