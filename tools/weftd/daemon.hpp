// SPDX-License-Identifier: BSD-3-Clause
// The daemon of a node: reports its contact, carries out the launcher's orders (tools/channel/protocol.hpp),
// and ends all that it has started when the launcher is lost. Everything here runs on the thread that calls
// run().
#pragma once

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/server_channel.hpp"
#include "tools/launch/agents.hpp"
#include "tools/launch/start_message.hpp"
#include "tools/messages/stop.hpp"
#include "tools/ranks/input_pipes.hpp"
#include "tools/ranks/local_ranks.hpp"
#include "tools/weftd/streams.hpp"

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

  // Orders of the launcher.
  void receive(std::uint32_t from, channel::MessageType type, const std::string& bytes, channel::Reply reply);
  template <class Message>
  void decode_and_call(const std::string& bytes, void (Daemon::*what)(const Message&));
  void pass_on(const channel::order::Launch& launch, const std::string& bytes);
  void launch(const channel::order::Launch& launch);
  void refuse_launch(const messages::Stop& stop);
  void write_input(const channel::order::Input& order, channel::Reply reply);
  void signal(const channel::order::Signal& order);
  void close_output(const channel::order::OutputUnwanted& order);
  void end(const channel::order::End& order);

  // Events of this node.
  void on_rank_ended(const job::RankEnd& ended);
  void on_abort_called(const job::AbortRequest& request);
  void on_settled();
  void on_node_lost(std::uint32_t node, const std::string& why);
  void on_launcher_lost();

  void exit_when_done();
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
  ranks::LocalRanks ranks_;
  std::optional<host::Server> server_;
  std::optional<channel::ServerChannel> channel_;
  std::optional<launch::Agents> agents_;  // of the daemons that this daemon has started
  Streams streams_;
  ranks::InputPipes input_pipes_;
  bool has_ranks_ = false;    // started, and not settled
  bool has_settled_ = false;  // the ranks have ended, or were ordered to end before the launch message came
  bool is_ending_ = false;    // no rank is started any more; exits when all output is written
  bool is_exiting_ = false;
  bool has_launcher_ = true;
  bool has_heard_launcher_ = false;  ///< or the server above this one in the tree
};

}  // namespace weft::weftd
