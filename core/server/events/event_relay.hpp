// SPDX-License-Identifier: BSD-3-Clause
// Events on their way: from a client to the others, to the host and to other nodes; from the host to clients and servers.
// The loop's thread only.
#pragma once

#include <asio/io_context.hpp>

#include "core/events/registry.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/host/host.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

class EventRelay {
 public:
  /// cluster: null where there is no other node. registry: the handlers of this server's host.
  EventRelay(asio::io_context& loop, const pmix_proc_t& self, Jobs& jobs, Host& host, Cluster* cluster,
             events::Registry& registry);

  /// The client wants to hear of these codes; of none: of all.
  static void subscribe(ClientConnection& connection, const std::vector<pmix_status_t>& codes);
  /// An event that a client has raised; its source is that client.
  void relay(const ConnectionRef& from, std::uint64_t tag, events::Event event);
  /// An event that the host has raised, for clients here or, by a custom range that names servers, for these.
  void notify(events::Event event, Done done);

  /// A local client died or left without finalize. Handlers that registered for exactly this are told; default handlers are
  /// not, because the host, which decides what becomes of the job, is about to tell them more.
  void announce_loss(const pmix_proc_t& proc);
  /// The same of a process on whichever node, to the clients of this node.
  void announce_death(const pmix_proc_t& proc);
  void announce_lost_node(NodeNumber node, const std::string& host_name, const std::string& why);

 private:
  bool names_servers(const events::Event& event) const;
  void notify_servers(const events::Event& event, Done done);
  void deliver_from_server(NodeNumber from, Bytes body, const Rpc::Reply& reply);
  void relay_to_nodes(const events::Event& event);
  void spread(const events::Event& event, const ClientConnection* except);
  void send_to_subscribers(const events::Event& event);

  asio::io_context& loop_;
  const pmix_proc_t self_;
  Jobs& jobs_;
  Host& host_;
  Cluster* cluster_;
  events::Registry& registry_;
};

}  // namespace weft::server
