// SPDX-License-Identifier: BSD-3-Clause
// weftrun: a cluster of daemons, the jobs of the run and a terminal. Everything here runs on the thread that
// calls run().
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tools/cluster/cluster.hpp"
#include "tools/host/server.hpp"
#include "tools/io/terminal.hpp"
#include "tools/node/node.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/launcher/console.hpp"
#include "tools/weftrun/launcher/grace_timer.hpp"
#include "tools/weftrun/launcher/running_jobs.hpp"
#include "tools/weftrun/launcher/signal_watch.hpp"
#include "tools/weftrun/launcher/standard_io.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

class Launcher final : cluster::ClusterWatcher, io::TerminalWatcher, RunningJobsWatcher {
 public:
  /// spawner: outlives this object. release: weftrun's own, "0.1.0". transport: between nodes; empty: the
  /// user's, or the best.
  Launcher(const process::Spawner& spawner, const Options& options, const Plan& plan, std::string release,
           std::string transport);

  /// Returns weftrun's exit status. Throws Stop if the job cannot be set up; no process is left in that case.
  int run();
  /// After run(): nothing was launched, because a node is not reached by the transport that this one chose;
  /// tcp may do.
  bool wants_tcp() const noexcept { return cluster_ && cluster_->wants_another_transport(); }

 private:
  // Set-up.
  void make_job();
  void start_server();
  void start_daemons(host::ServerIdentity identity);

  // What happens.
  void on_relayed_signal(int signal);
  void on_all_connected() override;
  void on_agent_line(const std::string& line) override;
  void on_detail(const std::string& text) override;
  void on_unused_node_lost(const std::string& line) override;
  void on_all_exited() override;
  void on_written() override;
  void on_reader_lost(job::Stream stream) override;
  void on_write_failed(job::Stream stream, int error) override;
  void on_all_ending() override;
  void on_all_over() override;
  void on_spawn(std::uint32_t node, std::uint64_t number, const job::SpawnRequest& request) override;
  void on_control(std::uint32_t node, std::uint64_t number, const job::ControlRequest& request) override;
  void on_connected(const std::vector<std::string>& nspaces, bool are_connected) override;
  void on_pull(std::uint32_t node, std::uint64_t number, const job::PullRequest& request) override;
  void on_push(std::uint32_t node, std::uint64_t number, const job::PushRequest& request) override;
  std::function<void(const job::Result&)> answer_to(std::uint32_t node, std::uint64_t number);
  host::Server::Events events_of_server();

  void show_progress(std::chrono::seconds after);
  void print_times();

  const process::Spawner& spawner_;
  const Options& options_;
  const Plan& plan_;
  const std::string release_, transport_;
  asio::io_context loop_{1};
  std::optional<io::Terminal> terminal_;
  std::optional<Console> console_;
  std::optional<StandardIo> streams_;
  std::unique_ptr<node::Node> node_;  // null: no rank runs on weftrun's own machine
  std::unique_ptr<host::Server> server_;
  std::unique_ptr<cluster::Cluster> cluster_;  // null: the job runs on this node alone
  std::optional<RunningJobs> jobs_;
  std::optional<SignalWatch> signals_;
  GraceTimer progress_{loop_};  // of a start that takes long
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point served_;
};

}  // namespace weft::weftrun
