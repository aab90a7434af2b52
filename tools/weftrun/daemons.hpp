// SPDX-License-Identifier: BSD-3-Clause
// The daemons of a launch as weftrun sees them: started by agents, spoken to through the session, lost or settled.
// Everything here runs on the loop.
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
#include "tools/weftrun/plan.hpp"

namespace weft::weftrun {

/// What daemons tell: of ranks that are theirs. None of it is called from inside a call of Daemons.
class DaemonsWatcher {
 public:
  virtual ~DaemonsWatcher() = default;
  virtual void on_all_there() = 0;  ///< each daemon has reported: the job can be launched
  virtual void on_node_started(std::uint32_t node, const channel::report::Started& report) = 0;
  virtual void on_output(channel::report::Output report, channel::Reply written) = 0;
  virtual void on_ended(const channel::report::Ended& report) = 0;
  virtual void on_late(job::Rank rank) = 0;
  virtual void on_aborted(const host::AbortRequest& request) = 0;
  virtual void on_input_unwanted(std::uint32_t node) = 0;
  /// Once a node: none of its ranks lives. It may not have been launched, or be lost.
  virtual void on_node_settled(std::uint32_t node) = 0;
  /// Once a node, before on_node_settled(): it is out of reach with all its ranks. line: for the user; empty: it has
  /// been told with another node.
  virtual void on_node_lost(std::uint32_t node, const std::string& line) = 0;
  virtual void on_said(const std::string& line) = 0;  ///< by an agent, or by a daemon on its standard error
  virtual void on_explained(const std::string& text) = 0;  ///< for --verbose
  virtual void on_all_left() = 0;                          ///< after finish()
};

class Daemons {
 public:
  /// When the PMIx server runs. Throws Stop. table must outlive this. goes_on: the job outlives lost nodes.
  Daemons(asio::io_context& loop, const process::Spawner& spawner, const host::ServerIdentity& identity,
          const Plan& plan, const placement::RankTable& table, std::string release, bool goes_on,
          DaemonsWatcher& watcher);

  /// They have WEFT_LAUNCH_TIMEOUT seconds from here to `started`.
  void start();
  /// Fills in the contacts and sends it down the tree. ready: this server may start ranks of its own. After
  /// on_all_there().
  void launch(channel::order::Launch launch, std::function<void()> ready);

  /// To all nodes that have unsettled ranks; named: to those ranks only. Before launch() SIGTERM and SIGKILL keep all
  /// nodes from being launched. sent: optional, when it has reached them.
  void signal(int number, const std::vector<job::Rank>& named = {}, std::function<void()> sent = {});
  void send_input(std::uint32_t node, const std::string& bytes, std::function<void()> taken);
  void close_output(channel::Stream stream);
  /// For whoever collects all children of this process.
  void collected(pid_t pid, int wait_status) { agents_.on_child_exit(pid, wait_status); }
  /// What ranks left behind is to be ended; the ends of daemons that come from now on are as they should be.
  void end();
  /// Waits for their ends, no longer than `patience` and some.
  void finish(std::chrono::milliseconds patience);

 private:
  struct Node {
    std::string host, contact;
    bool is_there = false, is_started = false, is_settled = false, is_lost = false;
  };
  void receive(std::uint32_t from, channel::MessageType type, std::string bytes, channel::Reply reply);
  void take_report(std::uint32_t from, channel::MessageType type, const std::string& bytes);
  template <class Report>
  bool read(const std::string& bytes, Report& report, std::uint32_t from);
  bool is_of(job::Rank rank, std::uint32_t node) const noexcept;
  void on_hello(std::uint32_t from, const channel::report::Hello& hello);
  void on_started(std::uint32_t from, const channel::report::Started& started);
  void settle(std::uint32_t node);
  /// Of those that are not lost yet the first gets the line.
  void lose(const std::vector<std::uint32_t>& nodes, const std::string& line);
  void lose_agent(std::vector<std::uint32_t> nodes, const std::string& line, const std::string& how);
  std::string then(const std::vector<std::uint32_t>& lost) const;
  void on_time_up();
  bool is_daemon(std::uint32_t number) const noexcept;
  std::vector<std::uint32_t> reachable() const;
  launch::StartMessage start_message() const;

  asio::io_context& loop_;
  host::ServerIdentity identity_;
  const Plan& plan_;
  const placement::RankTable& table_;
  std::string release_;
  bool goes_on_;
  DaemonsWatcher& watcher_;
  std::vector<Node> nodes_;  // by number; weftrun's own settles here only when nothing is launched
  channel::ServerChannel channel_;
  launch::Agents agents_;
  asio::steady_timer limit_;
  std::chrono::milliseconds launch_timeout_;
  std::size_t there_ = 0, started_ = 0, daemons_ = 0;
  bool is_launched_ = false, is_cancelled_ = false, is_ending_ = false;
};

}  // namespace weft::weftrun
