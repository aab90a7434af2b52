// SPDX-License-Identifier: BSD-3-Clause
// Events on their way: from a client to the others, to the host and to other nodes; from the host to clients
// and servers. The loop's thread only.
#pragma once

#include "core/server/loop/loop.hpp"

#include "core/events/recent.hpp"
#include "core/events/registry.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/connections/tools.hpp"
#include "core/server/events/tree_relay.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class EventRelay {
 public:
  /// registry: the handlers of this server's host.
  /// host_tells_ends: it raises PMIX_EVENT_PROC_TERMINATED itself, with the exit code.
  EventRelay(Loop& loop, const pmix_proc_t& self, Jobs& jobs, const Tools& tools, Host& host,
             Cluster& cluster, events::Registry& registry, bool host_tells_ends);

  /// The client wants to hear of these codes; of none: of all. The client is sent the kept events of
  /// these codes.
  /// Returns the codes that it did not want before. Error: no_space (more than 4096 codes in all; then none
  /// of these is added).
  Result<EventWishes> subscribe(ClientConnection& connection, const std::vector<pmix_status_t>& codes);
  /// The client wants these no more. Returns those that it did want.
  EventWishes unsubscribe(ClientConnection& connection, const EventWishes& wishes);
  /// An event that a client has raised; its source is that client.
  void relay(const ConnectionRef& from, std::uint64_t tag, events::Event event);
  /// An event that the host has raised, for clients here or, by a custom range that names servers, for these.
  void notify(events::Event event, Done done);

  /// An event that this server raises for a process of its node, which is the source.
  void raise(events::Event event);
  /// Gives an event to the clients of this server, and to no other process.
  void tell_clients(const events::Event& event) { spread(event, nullptr); }

  /// The namespace ends, and with it what is kept for its clients.
  void forget(std::string_view nspace);

  /// A local client died or left without finalize: PMIX_ERR_LOST_CONNECTION for the handlers of the host, and
  /// announce_death(). Where the host has a handler for the former, the default handlers of clients are left
  /// to it. A host that takes events is handed what clients are told, but PMIX_EVENT_PROC_TERMINATED, unless
  /// the servers of the other nodes see it themselves.
  void announce_loss(const pmix_proc_t& proc);
  /// The same of a process whose server is `server`, to the clients of this node: PMIX_ERR_PROC_ABORTED, and
  /// for those that name the code PMIX_ERR_PROC_TERM_WO_SYNC and, unless the host tells how processes end,
  /// PMIX_EVENT_PROC_TERMINATED. Default handlers hear the first, unless the host takes events or has said
  /// that the job ends with its first process (PMIX_JOB_RECOVERABLE false).
  void announce_death(const pmix_proc_t& proc, NodeNumber server);
  /// The server of another run, which has kept names of this one: WEFT_NAMES_LOST, for the host's handlers.
  void announce_lost_names(const pmix_proc_t& server);
  void announce_lost_node(NodeNumber node, const std::string& host_name, const std::string& why);

 private:
  bool names_servers(const events::Event& event) const;
  void notify_servers(const events::Event& event, Done done);
  void deliver_from_server(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  std::unique_ptr<TreeRelay> tree_of_cluster();
  void take_from_node(Bytes body);
  void tell_host(events::Event event);
  void spread(const events::Event& event, const ClientConnection* except);
  void raise(events::Event event, const ClientConnection* except, Done taken);
  bool is_from_here(const events::Event& event) const;
  enum class Defaults : bool { left_out, told };
  events::Event event_about(pmix_status_t code, const pmix_proc_t& proc, NodeNumber server,
                            Defaults defaults) const;
  bool host_takes_events() const noexcept { return host_.offers(&pmix_server_module_t::notify_event); }
  bool host_decides(const pmix_proc_t& proc) const;
  void announce(const pmix_proc_t& proc, NodeNumber server, Defaults defaults);
  void hand_to_host(const pmix_proc_t& proc);

  Loop& loop_;
  const pmix_proc_t self_;
  Jobs& jobs_;
  const Tools& tools_;
  Host& host_;
  Cluster& cluster_;
  std::unique_ptr<TreeRelay> tree_;  ///< null where there is no way to other nodes
  events::Registry& registry_;
  const bool host_tells_ends_;

  /// An event for clients, as it was sent.
  struct Sent {
    Subscription::Kind kind;
    bool is_from_here;
    std::vector<std::byte> message;
  };
  events::Recent<Sent> sent_;  ///< for handlers that are registered later
};

}  // namespace weft::server
