// SPDX-License-Identifier: BSD-3-Clause
// weftrun: one run of a user, which ends this process when it is over. Everything here runs on the thread
// that calls run().
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/launcher/grace_timer.hpp"
#include "tools/weftrun/launcher/ground.hpp"
#include "tools/weftrun/launcher/running_jobs.hpp"
#include "tools/weftrun/launcher/signal_watch.hpp"
#include "tools/weftrun/launcher/user_run.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

class Launcher final : GroundWatcher, RunningJobsWatcher {
 public:
  /// spawner: outlives this object. release, transport: as for Ground.
  Launcher(const process::Spawner& spawner, const Options& options, Plan& plan, std::string release,
           std::string transport);

  /// Returns weftrun's exit status. Throws Stop if the job cannot be set up; no process is left in that case.
  int run();
  /// After run(): as for Ground.
  bool wants_tcp() const noexcept { return ground_ && ground_->wants_tcp(); }

 private:
  void set_up();

  // What happens.
  void on_relayed_signal(int signal);
  void on_all_connected() override;
  void on_agent_line(const std::string& line) override;
  void on_detail(const std::string& text) override;
  void on_unused_node_lost(const std::string& line) override;
  void on_names_lost(const std::string& line) override;
  void on_all_exited() override;
  void on_run_launched(UserRun&, const JobRun&) override;
  void on_daemon_connected(std::uint32_t node) override;
  std::shared_ptr<UserRun> run_of_tools() override { return run_; }
  void on_nodes_added() override {}
  void on_run_ending(UserRun& run) override;
  void on_run_over(UserRun& run, int exit_code) override;

  void show_progress(std::chrono::seconds after);
  void print_times();

  const process::Spawner& spawner_;
  const Plan& plan_;
  const std::string release_, transport_, names_of_;
  asio::io_context loop_{1};
  // Whatever the ground still does as it goes may print and ask for jobs.
  RunningJobs jobs_;
  std::shared_ptr<UserRun> run_;
  JobRun* first_ = nullptr;
  std::optional<Ground> ground_;
  std::optional<SignalWatch> signals_;
  GraceTimer progress_{loop_};  // of a start that takes long
  int exit_code_ = 0;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point served_, started_;
};

}  // namespace weft::weftrun
