// SPDX-License-Identifier: BSD-3-Clause
// Drives one job: feeds what happens (exits, signals, timers, the server's upcalls, output) to the table of
// job_states.hpp and carries out its actions. Everything here runs on the thread that calls run().
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/node/environment.hpp"
#include "tools/node/job_info.hpp"
#include "tools/node/messages.hpp"
#include "tools/node/processes.hpp"
#include "tools/node/remains.hpp"
#include "tools/node/server.hpp"
#include "tools/weftrun/input.hpp"
#include "tools/weftrun/job_states.hpp"
#include "tools/weftrun/options.hpp"
#include "tools/weftrun/output.hpp"

namespace weft::weftrun {

class Job {
 public:
  explicit Job(Options options);

  /// Returns weftrun's exit status. Throws Stop when the job cannot be set up; no process is left then.
  int run();

 private:
  // Set-up, in this order.
  void plan();
  void find_programs();
  void start_server();
  void catch_signals();
  void start_ranks();
  SpawnResult start_rank(Rank rank, unsigned long descriptor_limit);

  // What happens.
  void raise(Event event);
  /// exit_code and line: what to give and to tell if this is the reason for the end; `about`: whose end is
  /// told.
  void raise(Event event, int exit_code, const std::string& line, std::optional<Rank> about = std::nullopt);
  void act(Action action);
  void await_child_signal();
  void await_end_signal();
  void await_relayed_signal();
  void collect_ranks();
  void on_rank_end(const Processes::Ended& ended);
  void on_late_connection(Rank rank);
  void on_abort(const AbortRequest& request);
  void on_end_signal(int signal);
  void on_relayed_signal(int signal);
  void on_time_up();
  void on_output_drained();
  void on_output_lost(const char* stream, int error);

  // The actions.
  void stop_ranks();
  void drain();
  void start_grace();
  void end_named(const AbortRequest& request);

  // What is told.
  void say(const std::string& line);
  void explain(const std::string& text);  ///< --verbose
  void report_bindings();
  void report_environment();
  void report_times();
  messages::Where where(Rank rank) const;

  Options options_;
  JobMap map_;
  asio::io_context loop_{1};
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<Orphans> orphans_;
  Topology topology_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<Processes> processes_;
  asio::signal_set child_signals_{loop_}, end_signals_{loop_}, relayed_signals_{loop_};
  asio::steady_timer limit_{loop_}, grace_{loop_};

  std::string library_path_;
  std::vector<Variables> app_environments_;  // one an app
  std::vector<std::string> programs_;        // one an app: the path to execute
  std::vector<bool> expected_;               // ranks that another rank asked to be ended
  State state_ = State::starting;
  int exit_code_ = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now(), served_, all_started_;  // for --verbose
  bool has_reason_ = false;                                        // the user has been told why the job ends
  bool time_is_up_ = false;
  bool settling_ = false;     // all ranks are gone, the library is asked for its last news of them
  unsigned grace_round_ = 0;  // tells a timer that has been started anew from one that was too late to cancel
};

}  // namespace weft::weftrun
