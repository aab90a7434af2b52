// SPDX-License-Identifier: BSD-3-Clause
// The server of a node without threads, listener and clock: its rooms, its loop, the mesh and the engine,
// over an endpoint of a simulated network. Whatever turns it is the owner's.
#pragma once

#include <asio/io_context.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "core/events/registry.hpp"
#include "core/server/cluster/cluster.hpp"
#include "core/server/connections/connection.hpp"
#include "core/server/rounds.hpp"
#include "transport/sim/network.hpp"

namespace weft::simulation {

using server::Loop;
using server::NodeNumber;

class Node final : server::ClientConnection::Owner {
 public:
  struct Place {
    NodeNumber self = 0, nodes = 1;
    mesh::Limits limits{};
    std::size_t width_of_ends = server::ProcessEnds::tree_width;
    std::uint64_t machine = 1;                  ///< servers of one number share its processors
    std::optional<collectives::Costs> costs{};  ///< as the launch information has them; nothing: it has none
  };
  /// A job, as the host of each node registers it; nodes without a rank of it know it, too.
  struct Job {
    std::string nspace;
    std::uint32_t nodes = 1;
    std::vector<NodeNumber> node_of_rank{};
    bool is_spawned = false;
  };

  /// now: the clock of the cluster, which outlives the node, as the network does.
  Node(sim::Network& network, const Loop::TimePoint& now, const Place& place);
  /// As a server that is killed: no other node hears of it by a word of its own.
  ~Node();

  NodeNumber self() const noexcept { return cluster_.self(); }
  std::vector<std::byte> contact() { return cluster_.contacts().own(); }
  void add(Bytes contact);
  void register_job(const Job& job);
  /// The host takes it away.
  void end_job(const std::string& nspace);
  /// The host hands over what a process has printed.
  void deliver(const pmix_proc_t& source, std::vector<std::byte> bytes);
  /// Of these the processes that pull them have not taken all.
  std::size_t undelivered() const noexcept { return undelivered_; }
  /// The other end of a connection to the server, of a process that has still to say hello.
  base::Fd connect();
  link::Token token_of(const pmix_proc_t& proc) const { return tokens_.token_of(proc); }

  /// One round of the loop. True: something has happened.
  bool round();
  Loop::TimePoint now() const noexcept { return loop_.now(); }
  /// When the next round is due though nothing happens; TimePoint::max(): never.
  Loop::TimePoint deadline() const noexcept;

  server::Rooms& rooms() noexcept { return *rooms_; }
  server::Cluster& cluster() noexcept { return cluster_; }
  /// As a server that is told to end (Cluster::say_goodbye): its processes are turned out, the nodes that it
  /// has spoken to hear that it goes. That is on its way a little later.
  void say_goodbye();
  std::size_t connections() const noexcept { return connections_.size(); }

 private:
  void on_frame(const server::ConnectionRef& from, link::Frame frame) override;
  void on_closed(const server::ConnectionRef& connection) override;
  void close_connections();

  const std::string host_name_;
  const pmix_proc_t self_;
  asio::io_context io_{1};
  Loop loop_;
  server::LoopWatch watch_;
  server::Tokens tokens_;
  events::Registry handlers_;
  std::optional<shm::Segment> segment_;
  std::vector<server::ConnectionRef> connections_;
  server::Cluster cluster_;
  std::unique_ptr<server::Rooms> rooms_;
  std::optional<server::Rounds> rounds_;
  std::size_t undelivered_ = 0;
  bool is_closing_ = false;
};

}  // namespace weft::simulation
