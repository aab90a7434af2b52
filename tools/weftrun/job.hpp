// SPDX-License-Identifier: BSD-3-Clause
// Drives one job: feeds what happens (exits, signals, timers, the server's upcalls, output, what daemons report) to the
// table of job_states.hpp and carries out its actions. Everything here runs on the thread that calls run().
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/host/server.hpp"
#include "tools/messages/messages.hpp"
#include "tools/placement/distribution.hpp"
#include "tools/ranks/local_ranks.hpp"
#include "tools/weftrun/daemons.hpp"
#include "tools/weftrun/input.hpp"
#include "tools/weftrun/job_states.hpp"
#include "tools/weftrun/options.hpp"
#include "tools/weftrun/output.hpp"
#include "tools/weftrun/plan.hpp"

namespace weft::weftrun {

class Job final : DaemonsWatcher {
 public:
  /// spawner: outlives this object. release: weftrun's own, "0.1.0".
  Job(const process::Spawner& spawner, Options options, Plan plan, std::string release);

  /// Returns weftrun's exit status. Throws Stop when the job cannot be set up; no process is left consequence.
  int run();

 private:
  // Set-up, in this order.
  void plan_launch();
  void plan_own_node();
  void start_server();
  void make_input();
  void catch_signals();
  void start_own_ranks();

  // What daemons tell.
  void on_all_connected() override;
  void on_node_started(std::uint32_t node, const channel::report::Started& report) override;
  void on_output(channel::report::Output report, channel::Reply written) override;
  void on_ended(const channel::report::Ended& report) override;
  void on_connected_late(job::Rank rank) override;
  void on_aborted(const host::AbortRequest& request) override;
  void on_input_unwanted(std::uint32_t node) override;
  void on_node_settled(std::uint32_t node) override;
  void on_node_lost(std::uint32_t node, const std::string& line) override;
  void on_agent_line(const std::string& line) override;
  void on_detail(const std::string& text) override;
  void on_all_exited() override;

  // What happens.
  void raise(Event event);
  /// exit_code and line: what to give and to tell if this is the reason for the end; `about`: whose end is told, and how
  /// much it has said before.
  struct About {
    job::Rank rank;
    WrittenBytes said{};
  };
  void raise(Event event, int exit_code, const std::string& line, std::optional<About> about = std::nullopt);
  /// The same for one rank or node that is lost (who): with --on-failure continue the job goes on without it.
  void fail(Event event, int exit_code, const std::string& who, const std::string& line,
            std::optional<About> about = std::nullopt);
  bool goes_on() const noexcept;
  void bear(int exit_code, const std::string& who);
  std::string_view consequence() const noexcept;
  void tell(const std::string& line, const std::optional<About>& about);
  void act(Action action);
  void await_end_signal();
  void await_relayed_signal();
  void on_node_runs();
  void on_rank_end(const ranks::LocalRanks::Ended& ended, WrittenBytes said);
  void on_end_signal(int signal);
  void on_relayed_signal(int signal);
  void on_time_up();
  void on_output_drained();
  void conclude();
  void on_output_unread(channel::Stream stream);

  // The actions.
  void send(int signal, const std::vector<job::Rank>& ranks = {});
  void stop_ranks();
  void drain();
  void finish();
  void start_grace();
  void end_named(const host::AbortRequest& request);

  // What is told.
  void say(const std::string& line);
  void explain(const std::string& text);  ///< --verbose
  void report_environment();
  void report_times();
  std::vector<job::Rank> living_ranks() const;
  messages::Where where(job::Rank rank) const;
  bool wants_bindings() const noexcept { return options_.report_bindings || options_.verbose; }

  const process::Spawner& spawner_;
  Options options_;
  Plan plan_;
  std::string release_;
  channel::order::Launch launch_;
  placement::RankTable table_;
  asio::io_context loop_{1};
  std::unique_ptr<Output> output_;
  std::unique_ptr<ranks::LocalRanks> local_;  // null: weftrun's machine has none of the ranks
  std::unique_ptr<host::Server> server_;
  std::unique_ptr<Daemons> daemons_;  // null: this node is the only one
  std::unique_ptr<Input> input_;
  asio::signal_set end_signals_{loop_}, relayed_signals_{loop_};
  asio::steady_timer limit_{loop_}, grace_{loop_};

  struct RankState {
    int pid = -1;
    bool lives = false;
    bool is_expected = false;  // another rank asked for its end
  };
  std::vector<RankState> ranks_;
  std::uint32_t nodes_to_start_ = 0;   // before all ranks run
  std::uint32_t nodes_to_settle_ = 0;  // before no rank lives
  State state_ = State::starting;
  int exit_code_ = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now(), served_, all_started_;  // for --verbose
  bool has_reason_ = false;                                        // the user has been told why the job ends
  bool is_launched_ = false;
  std::size_t failures_ = 0;   // that the job went on after
  std::string first_failure_;  // whose: it gave the exit status
  bool has_concluded_ = false;
  bool time_is_up_ = false;
  unsigned grace_round_ = 0;  // tells a timer that has been started anew from one that was too late to cancel
};

}  // namespace weft::weftrun
