// SPDX-License-Identifier: BSD-3-Clause
// Drives one job: feeds its events (exits, signals, timers, the server's upcalls, output, reports of daemons)
// to the table of job_states.hpp and carries out the actions. Everything here runs on the thread that calls
// run().
#pragma once

#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/host/server.hpp"
#include "tools/messages/messages.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/ranks/local_ranks.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/daemons/daemons.hpp"
#include "tools/weftrun/io/console.hpp"
#include "tools/weftrun/io/input.hpp"
#include "tools/weftrun/io/output.hpp"
#include "tools/weftrun/job/grace_timer.hpp"
#include "tools/weftrun/job/job_states.hpp"
#include "tools/weftrun/job/outcome.hpp"
#include "tools/weftrun/job/rank_states.hpp"
#include "tools/weftrun/job/signal_watch.hpp"
#include "tools/weftrun/plan/plan.hpp"

namespace weft::weftrun {

class Job final : DaemonsWatcher {
 public:
  /// spawner: outlives this object. release: weftrun's own, "0.1.0". transport: between nodes; empty: the
  /// user's, or the best.
  Job(const process::Spawner& spawner, Options options, Plan plan, std::string release,
      std::string transport);

  /// Returns weftrun's exit status. Throws Stop if the job cannot be set up; no process is left in that case.
  int run();
  /// After run(): nothing was launched, because a node is not reached by the transport that this one chose;
  /// tcp may do.
  bool wants_tcp() const noexcept { return daemons_ && daemons_->wants_another_transport(); }

 private:
  // Set-up, in this order (job_setup.cpp).
  void make_output();
  void plan_own_node();
  void start_server();
  void make_input();
  void catch_signals();
  void start_own_ranks();

  // Reports of daemons (job_nodes.cpp).
  void on_all_connected() override;
  void on_node_started(std::uint32_t node, const channel::report::Started& report) override;
  void on_output(channel::report::Output report, channel::Reply written) override;
  void on_ended(const channel::report::Ended& report) override;
  void on_connected_late(job::Rank rank) override;
  void on_aborted(const host::AbortRequest& request) override;
  void on_input_unwanted(std::uint32_t node) override;
  void on_node_settled(std::uint32_t node) override;
  void on_other_pmix(std::uint32_t node, const std::string& file) override;
  void on_node_lost(std::uint32_t node, const std::string& line) override;
  void on_agent_line(const std::string& line) override;
  void on_detail(const std::string& text) override;
  void on_all_exited() override;

  // Events.
  void on_node_runs();
  void say_why_ranks_are_strangers();
  void say_if_library_is_lost();
  void on_rank_end(const ranks::LocalRanks::Ended& ended, WrittenBytes written);
  void judge_end(const ranks::LocalRanks::Ended& ended, WrittenBytes written);
  void judge_held_ends();
  void say_absentees();
  void on_end_signal(int signal);
  void on_relayed_signal(int signal);
  void on_time_up();
  void on_output_drained();
  void on_reader_lost(channel::Stream stream);
  /// exit_code and line: the exit status, and what the user reads, if this event is the reason for the job's
  /// end. about: the rank that the line is about.
  void raise(Event event, int exit_code, const std::string& line, const std::optional<AboutRank>& about = {});
  /// Raises an event that is never a reason.
  void raise(Event event) { raise(event, outcome_.exit_code(), {}); }
  /// A rank or node is lost (what: "rank 3"). Raises the event, or with --on-failure continue records the
  /// failure.
  void fail(Event event, int exit_code, const std::string& what, const std::string& line,
            const std::optional<AboutRank>& about = {});
  bool continues() const noexcept;
  std::string_view consequence() const noexcept;

  // Actions.
  void act(Action action);
  void send(int signal, const std::vector<job::Rank>& ranks = {});
  void stop_ranks();
  void abandon();
  void drain();
  void conclude();
  void finish();
  void start_grace(std::chrono::seconds time);
  void end_named(const host::AbortRequest& request);

  void announce_start();
  void show_progress(std::chrono::seconds after);
  void note_failure(job::Rank rank, int exit_code, pmix_status_t how);

  void print_environment();
  void print_times();
  messages::Where where(job::Rank rank) const;

  const process::Spawner& spawner_;
  Options options_;
  Plan plan_;
  std::string release_, transport_;
  placement::RankTable table_;
  channel::order::Launch launch_;
  asio::io_context loop_{1};
  std::unique_ptr<Output> output_;
  std::optional<Console> console_;
  std::unique_ptr<ranks::LocalRanks> local_;  // null: no rank runs on weftrun's own machine
  std::unique_ptr<host::Server> server_;
  std::unique_ptr<Daemons> daemons_;  // null: the job runs on this node alone
  std::unique_ptr<Input> input_;
  std::optional<SignalWatch> signals_;
  asio::steady_timer limit_{loop_};
  GraceTimer grace_{loop_};
  GraceTimer progress_{loop_};  // of a start that takes long

  RankStates ranks_;
  /// Ends of ranks that came before that of the rank whose loss they may follow from.
  std::vector<std::pair<ranks::LocalRanks::Ended, WrittenBytes>> held_ends_;
  bool may_hold_ends_ = true;
  GraceTimer hold_{loop_};
  std::vector<job::Rank> absentees_;   // ended with status 0 before PMIx_Init, and not told of yet
  std::uint32_t nodes_to_start_ = 0;   // before all ranks run
  std::uint32_t nodes_to_settle_ = 0;  // before no rank runs any more
  State state_ = State::starting;
  Outcome outcome_;
  job::Ending ending_;  ///< as tools hear it
  bool has_announced_start_ = false;
  bool is_launched_ = false;
  bool has_concluded_ = false;
  bool has_connected_ = false;              // some rank, at any time
  std::vector<job::Interface> interfaces_;  // of the apps, as a daemon sees them
  std::optional<job::Rank> stranger_;       // the first to fail, if it had not connected
  std::string other_pmix_, other_pmix_host_;
  bool time_is_up_ = false;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now(), served_, all_started_;  // for --verbose
};

}  // namespace weft::weftrun
