// SPDX-License-Identifier: BSD-3-Clause
// One node of a launch: says where it is, does what the launcher orders (tools/channel/protocol.hpp), and ends everything it
// has started when the launcher is gone. Everything here runs on the thread that calls run().
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
#include "tools/ranks/input_pipes.hpp"
#include "tools/ranks/local_ranks.hpp"
#include "tools/weftd/streams.hpp"

namespace weft::weftd {

class Daemon {
 public:
  /// spawner: outlives this object. self: this node's place in message.nodes; release: our own.
  Daemon(const process::Spawner& spawner, launch::StartMessage message, std::size_t self,
         std::string release);

  /// weftd's exit status. Throws Stop when it cannot begin.
  int run();

 private:
  // How it comes to run.
  void start_server();
  void start_subtree();
  void await_end_of_input();
  void await_signal();
  void say_hello();

  // What the launcher orders.
  void receive(std::uint32_t from, channel::MessageType type, const std::string& bytes, channel::Reply reply);
  template <class Message>
  void obey(const std::string& bytes, void (Daemon::*what)(const Message&));
  void pass_on(const channel::order::Launch& launch, const std::string& bytes);
  void launch(const channel::order::Launch& launch);
  void start_ranks(const channel::order::Launch& launch);
  void give_input(const channel::order::Input& order, channel::Reply reply);
  void signal(const channel::order::Signal& order);
  void close_output(const channel::order::OutputUnwanted& order);
  void end(const channel::order::End&);

  // What happens here.
  void on_rank_ended(const ranks::LocalRanks::Ended& ended);
  void on_abort(const host::AbortRequest& request);
  void on_settled();
  void on_node_lost(std::uint32_t node);
  void lose_launcher();

  void leave_when_done();
  template <class Report>
  void tell(const Report& report, channel::ServerChannel::Done done = {});

  const process::Spawner& spawner_;
  launch::StartMessage message_;
  launch::NodeName self_;
  std::string release_;
  asio::io_context loop_{1};
  asio::posix::stream_descriptor input_{loop_};  // the agent's end of it is open as long as we are wanted
  asio::signal_set signals_{loop_};
  asio::steady_timer patience_{loop_};
  ranks::LocalRanks ranks_;
  std::optional<host::Server> server_;
  std::optional<channel::ServerChannel> channel_;
  std::optional<launch::Agents> agents_;  // of the daemons that this one has started
  Streams streams_;
  ranks::InputPipes input_pipes_;
  bool has_ranks_ = false;  // and they have not settled
  bool is_over_ = false;    // they have, or their end was ordered before the launch message came
  bool is_ending_ = false;  // nothing is started any more; leaves when all is written
  bool is_leaving_ = false;
  bool has_launcher_ = true;
};

}  // namespace weft::weftd
