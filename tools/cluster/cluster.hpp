// SPDX-License-Identifier: BSD-3-Clause
// The daemons of a launch as the launcher has them, whatever jobs they run: started by agents, reached
// through the channel, lost or dismissed. What they report of a job goes to its FarRanks. Everything here
// runs on the loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/server_channel.hpp"
#include "tools/cluster/far_ranks.hpp"
#include "tools/cluster/nodes.hpp"
#include "tools/host/server_identity.hpp"
#include "tools/launch/agents.hpp"

namespace weft::cluster {

/// No function is called from inside a call of Cluster.
class ClusterWatcher {
 public:
  virtual ~ClusterWatcher() = default;
  virtual void on_daemon_connected(std::uint32_t node) = 0;  ///< orders reach it
  virtual void on_all_connected() = 0;  ///< each daemon has reported: jobs can be launched
  virtual void on_agent_line(const std::string& line) = 0;  ///< of an agent, or of a daemon's standard error
  virtual void on_detail(const std::string& text) = 0;      ///< for --verbose
  /// No job has ranks there. line: for the user.
  virtual void on_unused_node_lost(const std::string& line) = 0;
  virtual void on_all_exited() = 0;  ///< after finish()
  /// A process of that node asks for a job; answer() is to follow.
  virtual void on_spawn(std::uint32_t node, std::uint64_t number, const job::SpawnRequest& request) = 0;
  virtual void on_control(std::uint32_t node, std::uint64_t number, const job::ControlRequest& request) = 0;
  virtual void on_connected(const std::vector<std::string>& nspaces, bool are_connected) = 0;
  virtual void on_pull(std::uint32_t node, std::uint64_t number, const job::PullRequest& request) = 0;
  virtual void on_push(std::uint32_t node, std::uint64_t number, const job::PushRequest& request) = 0;
};

class Cluster {
 public:
  struct Setup {
    host::ServerIdentity identity;     ///< of this process's server
    std::vector<std::string> hosts;    ///< of the nodes, by number
    std::size_t spares = 0;            ///< so many of them, the last, get daemons when they are wanted
    std::size_t room = 0;              ///< for so many more, which name() makes hosts
    std::optional<std::uint32_t> own;  ///< the node of this process, which has no daemon
    launch::Agent agent;
    std::string release;  ///< "0.1.0", which each daemon has to be of
  };
  /// When the PMIx server runs. Throws Stop.
  Cluster(asio::io_context& loop, const process::Spawner& spawner, Setup setup, ClusterWatcher& watcher);

  /// A job on these nodes; valid until remove().
  FarRanks& add(FarRanks::Job job, FarRanksWatcher& watcher);
  /// Not from inside a call of its watcher.
  void remove(FarRanks& job);
  /// Starts the daemons. From here until all have connected, and until the ranks of what is launched then
  /// have been started, they have WEFT_LAUNCH_TIMEOUT seconds.
  void start();
  /// A node that there is room for is that host. It is a spare one.
  void name(std::uint32_t node, const std::string& host) { nodes_.name(node, host); }
  /// Daemons for spare nodes. done: each of these is connected, or lost. Not inside this call.
  void want(const std::vector<std::uint32_t>& nodes, std::function<void()> done);
  const Nodes& nodes() const noexcept { return nodes_; }
  /// Sends the order down the tree; after on_all_connected(). The same time. ready: this server may start
  /// ranks of its own.
  void launch(FarRanks& job, const channel::order::Launch& launch, const std::function<void()>& ready);
  /// The daemons end what is left of the job and forget it. ending: clients still there hear of it; nothing:
  /// ranks are left behind. gone: they have, or are lost, and not inside this call; may be empty.
  void end(FarRanks& job, const std::optional<job::Ending>& ending, std::function<void()> gone = {});

  /// The end of on_spawn(node, number), and of each other that has a number.
  void answer(std::uint32_t node, std::uint64_t number, const job::Result& result);
  /// For processes and tools of that node. done: the reader has the bytes; false: the node is lost.
  void deliver(std::uint32_t node, const channel::order::Pulled& output, std::function<void(bool)> done);
  void tell_dropped(std::uint32_t node, const job::PullName& pull);

  /// For the part of this process that reaps all children.
  void on_child_exit(pid_t pid, int wait_status) { agents_.on_child_exit(pid, wait_status); }
  /// Orders the daemons to leave, with what they still run, when they have forgotten the jobs that are ended;
  /// a daemon that ends from now on is not lost.
  void dismiss();
  /// Waits for the daemons' ends; what still runs after `patience` is killed. First they get half of it to
  /// read the order: without their agents they end as well, but cannot say why.
  void finish(std::chrono::milliseconds patience);

  /// The way to other nodes, for people.
  const std::string& way() const noexcept { return channel_.way(); }
  /// A node has said, before anything was launched, that it is not reached by the transport, which the user
  /// has not asked for.
  bool wants_another_transport() const noexcept { return wants_another_transport_; }
  /// How far the start is, and the hosts of the daemons that it waits for.
  struct Progress {
    std::size_t daemons = 0, reported = 0, started = 0;
    std::vector<std::string> missing;
  };
  Progress progress() const;

 private:
  void receive(std::uint32_t from, channel::MessageType type, const std::string& bytes, channel::Reply reply);
  void receive_gathered(FarRanks& job, std::uint32_t from, const channel::report::Gathered& gathered);
  void take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes);
  void on_hello(const channel::report::Hello::Daemon& hello);
  void tell_if_connected();
  void tell_wanted();
  void on_peer_lost(std::uint32_t from, const channel::report::PeerLost& peer);
  void on_agent_failed(std::vector<std::uint32_t> nodes, const std::string& line, const std::string& how,
                       int exit_code);
  void on_launch_timeout();
  void send_leave();
  void on_order_read();
  /// The user hears of the first of these nodes that is not lost yet, in each job that has ranks there.
  void mark_lost(std::vector<std::uint32_t> nodes, const FarRanks::LineOf& line_of);
  void mark_lost(const std::vector<std::uint32_t>& nodes, const std::string& line);
  void mark_damaged(std::uint32_t node);
  void arm_limit();
  void lift_limit();
  bool is_launched() const;
  bool waits_for(std::uint32_t node) const;
  launch::StartMessage start_message(const std::vector<std::uint32_t>& nodes) const;
  void start_daemons(const std::vector<std::uint32_t>& nodes);

  asio::io_context& loop_;
  const Setup setup_;
  ClusterWatcher& watcher_;
  Nodes nodes_;
  channel::ServerChannel channel_;
  launch::Agents agents_;
  std::vector<std::unique_ptr<FarRanks>> jobs_;
  struct Wanted {
    std::vector<std::uint32_t> nodes;
    std::function<void()> done;
  };
  std::vector<Wanted> wanted_;
  asio::steady_timer limit_;
  const std::chrono::milliseconds launch_timeout_;
  unsigned limit_round_ = 0;
  std::size_t open_ends_ = 0;  ///< of jobs: some daemon may not have forgotten them
  bool is_limited_ = false, is_connected_ = false, is_leaving_ = false, wants_another_transport_ = false;
  bool has_order_been_read_ = false;  ///< that to leave; or it is not waited for any longer
  std::optional<std::chrono::milliseconds> end_patience_;  ///< of finish()
};

}  // namespace weft::cluster
