// SPDX-License-Identifier: BSD-3-Clause
// What a job that a user has started and those that its processes ask for (PMIx_Spawn) have in common: the
// user's options and surroundings, the user's standard streams, and one end. weftrun has one such run, and
// as a service one for each job of a user. On the loop.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/io/terminal.hpp"
#include "tools/weftrun/command_line/options.hpp"
#include "tools/weftrun/launcher/console.hpp"
#include "tools/weftrun/launcher/records/start_account.hpp"
#include "tools/weftrun/launcher/records/job_trace.hpp"
#include "tools/weftrun/plan/launch_message.hpp"

namespace weft::weftrun {

class UserRun;

/// Of the run's standard output and error; as in io::TerminalWatcher.
class UserRunWatcher {
 public:
  virtual void on_written(UserRun& run) = 0;
  virtual void on_reader_lost(UserRun& run, job::Stream stream) = 0;
  virtual void on_write_failed(UserRun& run, job::Stream stream, int error) = 0;

 protected:
  ~UserRunWatcher() = default;
};

class UserRun final : io::TerminalWatcher {
 public:
  using Clock = std::chrono::steady_clock;
  /// Descriptors that stay open as long as the run.
  struct Streams {
    int input = 0, output = 1, error = 2;
  };
  /// watcher: outlives this object.
  UserRun(asio::io_context& loop, Options options, Surroundings surroundings, Streams streams,
          UserRunWatcher& watcher)
      : options_(std::move(options)),
        surroundings_(std::move(surroundings)),
        input_(streams.input),
        watcher_(watcher),
        terminal_(loop, *this, streams.output, streams.error),
        console_(terminal_, options_.quiet, options_.verbose) {}
  UserRun(const UserRun&) = delete;
  UserRun& operator=(const UserRun&) = delete;

  const Options& options() const noexcept { return options_; }
  const Surroundings& surroundings() const noexcept { return surroundings_; }
  int input() const noexcept { return input_; }
  io::Terminal& terminal() noexcept { return terminal_; }
  Console& console() noexcept { return console_; }
  /// The start of its first job is accounted for. hosts: of the job's nodes, by number.
  void begin_account(std::vector<std::string> hosts) {
    account_.emplace(options_.planning_time, std::move(hosts));
  }
  StartAccount* account() noexcept { return account_ ? &*account_ : nullptr; }  ///< null: it is not
  /// Its first job is traced, to the file that the options name. Throws Stop: it cannot be written.
  void begin_trace() { trace_.emplace(options_.trace); }
  JobTrace* trace() noexcept { return trace_ ? &*trace_ : nullptr; }  ///< null: it is not
  Clock::duration age() const noexcept { return Clock::now() - begun_; }

  /// Of a spawned job that ran and has failed; the first counts.
  void take_failure(int exit_code) noexcept {
    if (first_failure_ == 0) first_failure_ = exit_code;
  }
  int first_failure() const noexcept { return first_failure_; }
  /// No process of it runs, and none comes any more, unless it lasts.
  void set_over() noexcept { is_over_ = !lasts_; }
  void last() noexcept { lasts_ = true; }
  bool is_over() const noexcept { return is_over_; }

 private:
  void on_written() override { watcher_.on_written(*this); }
  void on_reader_lost(job::Stream stream) override { watcher_.on_reader_lost(*this, stream); }
  void on_write_failed(job::Stream stream, int error) override {
    watcher_.on_write_failed(*this, stream, error);
  }

  const Options options_;
  const Surroundings surroundings_;
  const int input_;
  UserRunWatcher& watcher_;
  io::Terminal terminal_;
  Console console_;
  const Clock::time_point begun_ = Clock::now();
  std::optional<StartAccount> account_;
  std::optional<JobTrace> trace_;
  int first_failure_ = 0;
  bool is_over_ = false, lasts_ = false;
};

}  // namespace weft::weftrun
