// SPDX-License-Identifier: BSD-3-Clause
// Launcher, second part: what happens here, and what the job wants done.
#include "tools/weftrun/launcher/launcher.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tools/libraries/command_look.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/held_signals.hpp"
#include "tools/weftrun/plan/launch_message.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
namespace exit_status = messages::exit_status;

constexpr std::chrono::seconds grace_time{2};
/// For the kernel to end what has got SIGKILL.
constexpr std::chrono::seconds last_grace_time{5};
/// For daemons to exit when everything is over; then they get SIGTERM and, as much later, SIGKILL.
constexpr std::chrono::seconds leaving_time{2};
/// For the end of a process whose connection is lost to be seen, before what follows from it counts.
constexpr std::chrono::seconds hold_time{2};

}  // namespace

int Launcher::run() {
  // UCX prints its complaints on standard output, which is the ranks'. Their environment has been copied
  // before.
  ::setenv("UCX_LOG_FILE", "stderr", 0);
  process::keep_crashes_deadly();
  process::HeldSignals held;
  make_output();
  for (const auto& note : notes_on_variables(launch_)) console_->print(note);
  plan_own_node();
  start_server();
  served_ = Clock::now();
  print_environment();
  make_input();
  held.restore_dispositions();
  catch_signals();
  held.release();
  if (cluster_) {
    cluster_->start();
    constexpr std::chrono::seconds short_start{3};
    if (::isatty(STDERR_FILENO) == 1) show_progress(short_start);
  } else {
    job_.launched();
    start_own_ranks();
  }
  loop_.run();
  if (node_) node_->reap_orphans();
  print_times();
  if (local_)
    console_->print_detail(fmt::format("{} of {} ranks{} connected to the PMIx server",
                                       local_->count_connected(), local_->all().size(),
                                       plan_.alone ? "" : " of this node"));
  console_->print_detail(fmt::format("exit status {}", job_.exit_code()));
  return job_.exit_code();
}

// ---- what the job wants done

void Launcher::carry_out(const jobs::Orders& orders) {
  for (const auto& order : orders) std::visit([this](const auto& each) { do_order(each); }, order);
}

void Launcher::do_order(const jobs::Say& order) {
  order.what == jobs::Say::What::detail ? console_->print_detail(order.line)
                                        : console_->print_result(order.line, order.about);
}

void Launcher::do_order(const jobs::Announce& order) {
  server_->announce_job(order.code, launch_.nspace);
  if (order.code != PMIX_LAUNCH_COMPLETE) return;
  all_started_ = Clock::now();
  input_->resume();
}

void Launcher::do_order(jobs::Action action) {
  switch (action) {
    case jobs::Action::nothing:
      return;
    case jobs::Action::stop_ranks:
      return stop_ranks();
    case jobs::Action::kill_ranks:
      send(SIGKILL);
      return start_grace(last_grace_time);
    case jobs::Action::abandon:
      return abandon();
    case jobs::Action::drain:
      return drain();
    case jobs::Action::finish_undrained:
      output_->drop();
      [[fallthrough]];
    case jobs::Action::finish:
      return finish();
  }
}

void Launcher::do_order(const jobs::EndRanks& order) {
  send(SIGTERM, order.ranks);
  send(SIGCONT, order.ranks);
  auto patience = std::make_shared<asio::steady_timer>(loop_, grace_time);
  patience->async_wait([this, patience, ranks = order.ranks](const asio::error_code& error) {
    if (!error) send(SIGKILL, ranks);
  });
}

void Launcher::do_order(const jobs::Hold& order) {
  order.begins ? hold_.start(hold_time, [this] { carry_out(job_.hold_over()); }) : hold_.cancel();
}

void Launcher::send(int signal, const std::vector<Rank>& ranks) {
  if (local_) local_->send(signal, ranks);
  if (far_ != nullptr) far_->signal(signal, ranks);
}

void Launcher::stop_ranks() {
  send(SIGTERM);
  send(SIGCONT);  // a stopped process cannot obey
  start_grace(grace_time);
}

void Launcher::start_grace(std::chrono::seconds time) {
  grace_.start(time, [this] { carry_out(job_.raise(jobs::Event::grace_over)); });
}

void Launcher::abandon() {
  grace_.cancel();
  std::vector<messages::Where> left;
  for (const Rank rank : job_.ranks().running()) left.push_back(job_.where(rank));
  console_->print_result(
      messages::left_behind(left, far_ != nullptr ? far_->unsettled() : std::vector<std::string>()));
  input_->close();
  dismiss(std::nullopt);
  output_->drop();
  finish();
}

void Launcher::drain() {
  grace_.cancel();
  input_->close();
  if (node_) node_->reap_orphans();  // they may hold the output pipes open
  server_->announce_end_of_job(launch_.nspace, job_.ending());
  dismiss(job_.ending());
  // A time limit holds for a slow reader of weftrun's output too; a limit that has not passed yet goes on.
  if (time_is_up_) start_grace(grace_time);
  if (output_->is_drained()) conclude();
}

/// The job has ended for all daemons, and they leave. ending: nothing: ranks are left behind.
void Launcher::dismiss(const std::optional<job::Ending>& ending) {
  if (!cluster_) return;
  far_->end(ending);
  cluster_->dismiss();
}

void Launcher::finish() {
  if (cluster_)
    cluster_->finish(leaving_time);
  else
    loop_.stop();
}

/// Ranks that do not find their runtime may each run as a job of one, and end well.
void Launcher::do_order(const jobs::LookForStrangers&) {
  const auto& interfaces = local_ ? local_->interfaces() : interfaces_;
  for (std::size_t app = 0; !job_.has_connected() && app < std::min(interfaces.size(), launch_.apps.size());
       ++app) {
    // A rank that fails right after PMIx_Init may not have been heard of; one with another library never is.
    if (job_.exit_code() != 0 && interfaces[app].server_pmix.empty()) continue;
    const auto line = messages::not_of_the_job(launch_.apps[app].argv[0], interfaces[app], table_.size());
    if (!line.empty()) return console_->print_result(line);
  }
  if (!other_pmix_.empty()) say_if_library_is_lost();
}

/// A process of another job may have opened the other library: so a program that would use it must be in
/// sight.
void Launcher::say_if_library_is_lost() {
  const auto& app = launch_.apps[job_.stranger() ? table_.app_of(*job_.stranger()) : 0];
  const node::Variables& variables = launch_.environment;
  const auto program = libraries::user_of_pmix(
      app.argv, node::value_of(variables, "PATH"),
      {node::value_of(variables, "LD_LIBRARY_PATH"), app.directory.empty() ? "." : app.directory});
  if (program.empty()) return;
  const auto ranks = job_.has_connected() ? fmt::format("rank {} did not reach", number(*job_.stranger()))
                                          : fmt::format("none of the {} ranks reached", table_.size());
  console_->print_result(
      messages::library_lost(ranks, program, {node::library_file(), other_pmix_, other_pmix_host_}));
}

// ---- signals, time, output

void Launcher::on_end_signal(int signal) {
  carry_out(job_.raise(jobs::Event::end_signal, exit_status::signal_base + signal,
                       messages::ended_by_signal(signal)));
}

void Launcher::on_relayed_signal(int signal) {
  if (signal == SIGTSTP) {
    // Ranks are in process groups of their own, so the terminal did not stop them. With daemons weftrun
    // itself goes on: a launcher that does not answer would be lost to them.
    send(SIGSTOP);
    if (!cluster_) ::kill(::getpid(), SIGSTOP);
    return;
  }
  send(signal);
  // Perhaps in the foreground now. Before the ranks there is no reader of the input.
  if (signal == SIGCONT && job_.all_run()) input_->resume();
}

void Launcher::on_time_up() {
  time_is_up_ = true;
  const double seconds = std::chrono::duration<double>(*options_.limit).count();
  const bool is_starting = job_.state() == jobs::State::starting;
  carry_out(job_.raise(jobs::Event::time_up, exit_status::timed_out,
                       is_starting ? messages::timed_out_at_start(seconds)
                                   : messages::timed_out(seconds, job_.ranks().running(), table_.size())));
}

void Launcher::on_written() {
  // Posted, since a line that is printed for the job comes by here as well.
  if (job_.state() == jobs::State::draining && output_->is_drained())
    asio::post(loop_, [this] { conclude(); });
}

/// The output of all ranks is written. If some failed and the rest went on, one line is left to print.
void Launcher::conclude() {
  if (const auto summary = job_.take_summary(); !summary.empty()) {
    console_->print_result(summary);
    if (!output_->is_drained()) return;
  }
  carry_out(job_.raise(jobs::Event::output_done));
}

/// Closes the ranks' ends of the stream, so that all is as without weftrun: a rank that writes to a stream
/// without a reader gets SIGPIPE, and decides.
void Launcher::on_reader_lost(job::Stream stream) {
  output_->close(stream);
  if (far_ != nullptr) far_->close_output(stream);
  console_->print_detail(messages::reader_gone(name_of(stream)));
}

void Launcher::on_write_failed(job::Stream stream, int error) {
  on_output_lost(name_of(stream), error);
}

void Launcher::on_output_lost(const std::string& what, int error) {
  carry_out(
      job_.raise(jobs::Event::output_lost, exit_status::own_failure, messages::output_lost(what, error)));
}

void Launcher::print_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  console_->print_detail(
      fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                  since(served_), since(all_started_), since(Clock::now())));
}

}  // namespace weft::weftrun
