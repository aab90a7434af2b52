// SPDX-License-Identifier: BSD-3-Clause
// The daemon of a node: reports its contact, has the jobs that the launcher orders
// (tools/channel/protocol.hpp, job_here.hpp), and ends all that it has started when the launcher is lost.
// Everything here runs on the thread that calls run().
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tools/channel/server_channel.hpp"
#include "tools/launch/agents.hpp"
#include "tools/launch/start_message.hpp"
#include "tools/node/node.hpp"
#include "tools/weftd/asked.hpp"
#include "tools/weftd/ended_jobs.hpp"
#include "tools/weftd/hellos.hpp"
#include "tools/weftd/job_here.hpp"

namespace weft::weftd {

class Daemon {
 public:
  /// spawner: outlives this object. self: this node's index in message.nodes. release: our own, "0.1.0".
  Daemon(const process::Spawner& spawner, launch::StartMessage message, std::size_t self,
         std::string release);

  /// Returns weftd's exit status. Throws Stop if the server cannot start.
  int run();

 private:
  // Start.
  void start_server();
  void start_subtree();
  void await_end_of_input();
  void await_signal();
  void beat();
  void send_hello();
  void pass_on_hello(std::uint32_t from, const std::string& bytes);

  // Orders of the launcher.
  void receive(std::uint32_t from, channel::MessageType type, const std::string& bytes, channel::Reply reply);
  void receive_broadcast(std::uint32_t from, const std::string& bytes, const channel::Reply& reply);
  void receive_for_job(channel::MessageType type, const std::string& bytes, channel::Reply reply);
  void receive_for_reader(channel::MessageType type, const std::string& bytes, channel::Reply reply);
  void launch(std::uint32_t from, const std::string& bytes, const channel::Reply& reply);
  void pass_on_reports(std::uint32_t from, const std::string& bytes, const channel::Reply& reply);
  JobHere* find_job(const std::string& nspace) const;
  JobHere* job_at(const std::string& nspace);

  // Events of this node.
  void on_job_over(const std::string& nspace);
  void on_node_lost(std::uint32_t node, const std::string& why);
  void on_launcher_lost();

  bool is_at_rest() const;
  void step(DaemonEvent event);
  void end_jobs();
  template <class Report>
  void send_report(const Report& report, channel::ServerChannel::Done done = {});

  const process::Spawner& spawner_;
  launch::StartMessage message_;
  launch::NodeName self_;
  std::string release_;
  asio::io_context loop_{1};
  asio::posix::stream_descriptor input_{
      loop_};  // the agent holds the other end open as long as the daemon is wanted
  asio::signal_set signals_{loop_};
  asio::steady_timer patience_{loop_}, beat_{loop_};
  node::Node node_;
  Asked asked_{loop_, message_.launcher.number};  // on threads of the server, too
  std::optional<host::Server> server_;
  std::optional<channel::ServerChannel> channel_;
  std::optional<launch::Agents> agents_;  // of the daemons that this daemon has started
  std::optional<Hellos> hellos_;
  std::optional<JobHere::Place> place_;                   // with whether there is a launcher
  std::map<std::string, std::unique_ptr<JobHere>> jobs_;  // by namespace
  EndedJobs ended_;
  DaemonState state_ = DaemonState::idle;
  bool has_heard_launcher_ = false;  // or a server above this one in a tree
  bool is_watched_ = false;          // by the launcher
};

}  // namespace weft::weftd
