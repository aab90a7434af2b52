// SPDX-License-Identifier: BSD-3-Clause
// Runs one job: tells it what happens (exits, signals, timers, the server's upcalls, output, reports of
// daemons) and carries out what it wants done (tools/jobs). Everything here runs on the thread that calls
// run().
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cluster/cluster.hpp"
#include "tools/host/server.hpp"
#include "tools/io/input.hpp"
#include "tools/io/output.hpp"
#include "tools/io/terminal.hpp"
#include "tools/jobs/job.hpp"
#include "tools/node/node.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/launcher/console.hpp"
#include "tools/weftrun/launcher/grace_timer.hpp"
#include "tools/weftrun/launcher/signal_watch.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

class Launcher final : cluster::ClusterWatcher, cluster::FarRanksWatcher, io::TerminalWatcher {
 public:
  /// spawner: outlives this object. release: weftrun's own, "0.1.0". transport: between nodes; empty: the
  /// user's, or the best.
  Launcher(const process::Spawner& spawner, Options options, Plan plan, std::string release,
           std::string transport);

  /// Returns weftrun's exit status. Throws Stop if the job cannot be set up; no process is left in that case.
  int run();
  /// After run(): nothing was launched, because a node is not reached by the transport that this one chose;
  /// tcp may do.
  bool wants_tcp() const noexcept { return cluster_ && cluster_->wants_another_transport(); }

 private:
  // Set-up, in this order (launcher_setup.cpp).
  void make_output();
  void plan_own_node();
  void start_server();
  void make_input();
  void catch_signals();
  void start_own_ranks();

  // Reports of daemons (launcher_nodes.cpp).
  void on_all_connected() override;
  void on_agent_line(const std::string& line) override;
  void on_detail(const std::string& text) override;
  void on_unused_node_lost(const std::string& line) override;
  void on_all_exited() override;
  void on_node_started(std::uint32_t node, const channel::report::Started& report) override;
  void on_output(channel::report::Output report, channel::Reply written) override;
  void on_ended(const job::RankEnd& ended) override;
  void on_connected_late(job::Rank rank) override;
  void on_aborted(const job::AbortRequest& request) override;
  void on_input_unwanted(std::uint32_t node) override;
  void on_node_settled(std::uint32_t node) override;
  void on_other_pmix(std::uint32_t node, const std::string& file) override;
  void on_node_lost(std::uint32_t node, const std::string& line) override;

  // What else happens.
  void on_end_signal(int signal);
  void on_relayed_signal(int signal);
  void on_time_up();
  void on_written() override;
  void on_reader_lost(job::Stream stream) override;
  void on_write_failed(job::Stream stream, int error) override;
  void on_output_lost(const std::string& what, int error);

  // What the job wants done.
  void carry_out(const jobs::Orders& orders);
  void do_order(const jobs::Say& order);
  void do_order(const jobs::Announce& order);
  void do_order(jobs::Action action);
  void do_order(const jobs::EndRanks& order);
  void do_order(const jobs::Hold& order);
  void do_order(const jobs::LookForStrangers&);
  void say_if_library_is_lost();
  void send(int signal, const std::vector<job::Rank>& ranks = {});
  void stop_ranks();
  void abandon();
  void drain();
  void dismiss(const std::optional<job::Ending>& ending);
  void conclude();
  void finish();
  void start_grace(std::chrono::seconds time);

  void show_progress(std::chrono::seconds after);
  void print_environment();
  void print_times();
  jobs::Job::Plan plan_of_job();

  const process::Spawner& spawner_;
  Options options_;
  Plan plan_;
  std::string release_, transport_;
  placement::RankTable table_;
  channel::order::Launch launch_;
  asio::io_context loop_{1};
  std::optional<io::Terminal> terminal_;
  std::optional<io::Output> output_;
  std::optional<Console> console_;
  std::unique_ptr<node::Node> node_;   // null: no rank runs on weftrun's own machine
  node::LocalRanks* local_ = nullptr;  // of node_
  std::unique_ptr<host::Server> server_;
  std::unique_ptr<cluster::Cluster> cluster_;  // null: the job runs on this node alone
  cluster::FarRanks* far_ = nullptr;           // of cluster_
  std::unique_ptr<io::Input> input_;
  std::optional<SignalWatch> signals_;
  asio::steady_timer limit_{loop_};
  GraceTimer grace_{loop_};
  GraceTimer progress_{loop_};  // of a start that takes long

  GraceTimer hold_{loop_};
  jobs::Job job_;
  std::vector<job::Interface> interfaces_;  // of the apps, as a daemon sees them
  std::string other_pmix_, other_pmix_host_;
  bool time_is_up_ = false;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now(), served_, all_started_;  // for --verbose
};

}  // namespace weft::weftrun
