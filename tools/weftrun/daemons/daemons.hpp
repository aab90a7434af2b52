// SPDX-License-Identifier: BSD-3-Clause
// The daemons of a launch as weftrun sees them: started by agents, reached through the channel, lost or
// settled. Everything here runs on the loop.
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/channel/launch_order.hpp"
#include "tools/channel/server_channel.hpp"
#include "tools/host/server.hpp"
#include "tools/launch/agents.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

/// Receives what daemons report, about ranks of their own nodes. No function is called from inside a call of
/// Daemons.
class DaemonsWatcher {
 public:
  virtual ~DaemonsWatcher() = default;
  virtual void on_all_connected() = 0;  ///< each daemon has reported: the job can be launched
  virtual void on_node_started(std::uint32_t node, const channel::report::Started& report) = 0;
  virtual void on_output(channel::report::Output report, channel::Reply written) = 0;
  virtual void on_ended(const job::RankEnd& ended) = 0;
  virtual void on_connected_late(job::Rank rank) = 0;
  virtual void on_aborted(const job::AbortRequest& request) = 0;
  virtual void on_input_unwanted(std::uint32_t node) = 0;
  /// Called once a node: none of its ranks runs. The node may not have been launched, or be lost.
  virtual void on_node_settled(std::uint32_t node) = 0;
  /// Before on_node_settled(): the file of another PMIx library was opened there while ranks ran.
  virtual void on_other_pmix(std::uint32_t node, const std::string& file) = 0;
  /// Once a node, before on_node_settled(): it is lost with all its ranks. line: for the user; empty: printed
  /// with another node already.
  virtual void on_node_lost(std::uint32_t node, const std::string& line) = 0;
  virtual void on_agent_line(const std::string& line) = 0;  ///< of an agent, or of a daemon's standard error
  virtual void on_detail(const std::string& text) = 0;      ///< for --verbose
  virtual void on_all_exited() = 0;                         ///< after finish()
};

class Daemons {
 public:
  /// When the PMIx server runs. Throws Stop. table must outlive this. continues: the job outlives lost nodes.
  Daemons(asio::io_context& loop, const process::Spawner& spawner, const host::ServerIdentity& identity,
          const Plan& plan, const placement::RankTable& table, std::string release, bool continues,
          DaemonsWatcher& watcher);

  /// From here to `started` a daemon has WEFT_LAUNCH_TIMEOUT seconds.
  void start();
  /// Sends the order down the tree. ready: this server may start ranks of its own.
  /// After on_all_connected().
  void launch(const channel::order::Launch& launch, std::function<void()> ready);

  /// For all ranks that have not ended; named: for these only. Before launch() SIGTERM and SIGKILL cancel the
  /// launch. sent: when the daemons have it; may be empty.
  void signal(int number, const std::vector<job::Rank>& named = {}, std::function<void()> sent = {});
  void send_input(std::uint32_t node, const std::string& bytes, std::function<void()> taken);
  void close_output(channel::Stream stream);
  /// For the part of this process that reaps all children.
  void on_child_exit(pid_t pid, int wait_status) { agents_.on_child_exit(pid, wait_status); }
  /// Orders the daemons to end orphans and exit; a daemon that ends from now on is not lost.
  void end(std::optional<job::Ending> ending = std::nullopt);
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
  /// The hosts of daemons that have not said that their ranks have ended.
  std::vector<std::string> unsettled() const;

 private:
  struct Node {
    std::string host;
    bool is_connected = false, is_started = false, is_settled = false, is_lost = false;
  };
  void receive(std::uint32_t from, channel::MessageType type, std::string bytes, channel::Reply reply);
  void take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes);
  template <class Report>
  bool read(const std::string& bytes, Report& report, std::uint32_t from);
  bool is_rank_of(job::Rank rank, std::uint32_t node) const noexcept;
  void on_hello(std::uint32_t from, const channel::report::Hello& hello);
  void on_started(std::uint32_t from, const channel::report::Started& started);
  void on_peer_lost(std::uint32_t from, const channel::report::PeerLost& peer);
  void settle(std::uint32_t node);
  void on_order_read();
  /// The first of these nodes that is not lost yet gets the line.
  void mark_lost(const std::vector<std::uint32_t>& nodes, const std::string& line);
  void on_agent_failed(std::vector<std::uint32_t> nodes, const std::string& line, const std::string& how,
                       int exit_code);
  std::string consequence(const std::vector<std::uint32_t>& lost) const;
  void on_launch_timeout();
  bool is_daemon(std::uint32_t number) const noexcept;
  std::vector<std::uint32_t> reachable() const;
  launch::StartMessage start_message() const;

  asio::io_context& loop_;
  host::ServerIdentity identity_;
  const Plan& plan_;
  const placement::RankTable& table_;
  std::string release_;
  bool continues_;
  DaemonsWatcher& watcher_;
  std::vector<Node> nodes_;  // by number; that of weftrun itself settles here only if nothing is launched
  channel::ServerChannel channel_;
  launch::Agents agents_;
  asio::steady_timer limit_;
  std::chrono::milliseconds launch_timeout_;
  std::size_t connected_ = 0, started_ = 0, daemons_ = 0;  // counts
  bool is_launched_ = false, is_cancelled_ = false, is_ending_ = false, wants_another_transport_ = false;
  bool has_order_been_read_ = false;  ///< that to end; or it is not waited for any longer
  std::optional<std::chrono::milliseconds> end_patience_;  ///< of finish()
};

}  // namespace weft::weftrun
