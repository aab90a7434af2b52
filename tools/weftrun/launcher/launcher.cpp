// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/launcher/launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "tools/messages/messages.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/held_signals.hpp"

namespace weft::weftrun {
namespace {

RunningJobs::Place place_of(asio::io_context& loop, Plan& plan, RunningJobsWatcher& watcher,
                            std::function<void(const std::string& line)> say) {
  return {loop, plan, watcher, std::move(say)};
}

}  // namespace

Launcher::Launcher(const process::Spawner& spawner, const Options& options, Plan& plan, std::string release,
                   std::string transport)
    : spawner_(spawner),
      plan_(plan),
      release_(std::move(release)),
      transport_(std::move(transport)),
      names_of_(options.names_of),
      jobs_(place_of(loop_, plan, *this,
                     [this](const std::string& line) { run_->console().print_result(line); })),
      run_(std::make_shared<UserRun>(loop_, options, Surroundings::own(), UserRun::Streams(), jobs_)) {}

int Launcher::run() {
  process::keep_crashes_deadly();
  process::HeldSignals held;
  try {
    set_up();
  } catch (const messages::Stop&) {
    if (first_ != nullptr) first_->records().print_account();
    throw;
  }
  served_ = Clock::now();
  auto* const cluster = ground_->cluster();
  if (cluster != nullptr)
    run_->console().print_detail(fmt::format("other nodes are reached by {}", cluster->way()));
  first_->records().print_plan();
  first_->begin();
  held.restore_dispositions();
  signals_.emplace(loop_, SignalWatch::Events{[this](int signal) { jobs_.on_end_signal(*run_, signal); },
                                              [this](int signal) { on_relayed_signal(signal); }});
  held.release();
  if (cluster != nullptr) {
    if (auto* const account = run_->account()) account->agents_start();
    cluster->start();
    if (auto* const account = run_->account()) account->agents_run();
    constexpr std::chrono::seconds short_start{3};
    if (::isatty(STDERR_FILENO) == 1) show_progress(short_start);
  } else {
    first_->start();
  }
  loop_.run();
  if (auto* const node = ground_->node()) node->reap_orphans();
  print_times();
  first_->records().print_account();
  if (!first_->records().write_trace() && exit_code_ == 0) exit_code_ = messages::exit_status::own_failure;
  first_->records().print_end();
  return exit_code_;
}

void Launcher::set_up() {
  if (!run_->options().trace.empty()) run_->begin_trace();
  first_ = &jobs_.add_first(run_);
  if (run_->options().launch_report != LaunchReport::none) {
    std::vector<std::string> hosts;
    for (const auto& node : plan_.nodes) hosts.push_back(node.name);
    run_->begin_account(std::move(hosts));
  }
  GroundWatcher& watcher = *this;  // a base that emplace may not see
  ground_.emplace(Ground::Setup{loop_, spawner_, plan_, jobs_, watcher, release_, transport_, names_of_});
  ground_->start_server();
  ground_->prepare_daemons();
  if (auto* const account = run_->account()) account->server_is_ready();
  first_->set_up(ground_->node(), ground_->server(), ground_->cluster());
}

/// With daemons weftrun itself is not stopped: a launcher that does not answer would be lost to them.
void Launcher::on_relayed_signal(int signal) {
  jobs_.on_relayed_signal(*run_, signal);
  if (signal == SIGTSTP && ground_->cluster() == nullptr) ::kill(::getpid(), SIGSTOP);
}

void Launcher::on_all_connected() {
  first_->start();
}

/// For a terminal only: a pipe or a file gets what has happened, not what has not yet.
void Launcher::show_progress(std::chrono::seconds after) {
  progress_.start(after, [this] {
    if (first_->job().state() != jobs::State::starting) return;
    const std::chrono::duration<double> waited = Clock::now() - served_;
    const auto now = ground_->cluster()->progress();
    run_->console().print_result(
        messages::still_starting(now.daemons, now.reported, now.started, now.missing, waited.count()));
    constexpr std::chrono::seconds pause{10};
    show_progress(pause);
  });
}

void Launcher::on_agent_line(const std::string& line) {
  run_->console().pass_on(line);
}

void Launcher::on_detail(const std::string& text) {
  run_->console().print_detail(text);
}

void Launcher::on_unused_node_lost(const std::string& line) {
  run_->console().print_result(line);
}

void Launcher::on_names_lost(const std::string& line) {
  run_->console().print_result(line);
}

void Launcher::on_daemon_connected(std::uint32_t node) {
  if (auto* const account = run_->account()) account->daemon_connected(node);
}

void Launcher::on_run_launched(UserRun&, const JobRun&) {
  started_ = Clock::now();
  if (auto* const account = run_->account()) account->all_run();
}

void Launcher::on_run_ending(UserRun&) {
  ground_->dismiss();
}

void Launcher::on_run_over(UserRun&, int exit_code) {
  exit_code_ = exit_code;
  ground_->finish();
}

void Launcher::on_all_exited() {
  loop_.stop();
}

void Launcher::print_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  run_->console().print_detail(
      fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                  since(served_), since(started_), since(Clock::now())));
}

}  // namespace weft::weftrun
