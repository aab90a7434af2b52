// SPDX-License-Identifier: BSD-3-Clause
// JobRun, second part: what happens here, and what the job wants done.
#include "tools/weftrun/launcher/job_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <csignal>
#include <memory>
#include <utility>

#include "tools/libraries/command_look.hpp"
#include "tools/messages/stop.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
namespace exit_status = messages::exit_status;

constexpr std::chrono::seconds grace_time{2};
/// For the kernel to end what has got SIGKILL.
constexpr std::chrono::seconds last_grace_time{5};
/// For the end of a process whose connection is lost to be seen, before what follows from it counts.
constexpr std::chrono::seconds hold_time{2};

}  // namespace

// ---- what the job wants done

void JobRun::carry_out(const jobs::Orders& orders) {
  for (const auto& order : orders) std::visit([this](const auto& each) { do_order(each); }, order);
}

void JobRun::do_order(const jobs::Say& order) {
  if (order.what == jobs::Say::What::detail) return place_.run.console().print_detail(order.line);
  order.about ? place_.run.console().print_result(order.line, *order.about, output_)
              : place_.run.console().print_result(order.line);
}

void JobRun::do_order(const jobs::Announce& order) {
  server_->announce_job(order.code, launch_.nspace);
  if (order.code != PMIX_LAUNCH_COMPLETE) return;
  input_->resume();
  look_for_stuck();
  place_.watcher.on_job_launched(*this);
  tell_if_all_run();
}

/// Of a job that a process has asked for, that process hears.
void JobRun::do_order(const jobs::AnnounceHeld& order) {
  server_->announce_held(launch_.nspace, order.held.breakpoint);
  const auto line = messages::held(order.held, table_.size(), launch_.nspace);
  launch_.parent ? place_.run.console().print_detail(line) : place_.run.console().print_result(line);
}

void JobRun::tell_if_all_run() {
  if (!job_.all_run() || (far_ != nullptr && !far_->is_known_everywhere()) || std::exchange(is_told_, true))
    return;
  place_.watcher.on_job_runs(*this);
}

void JobRun::do_order(jobs::Action action) {
  switch (action) {
    case jobs::Action::nothing:
      return;
    case jobs::Action::stop_ranks:
      stop_ranks();
      return place_.watcher.on_job_stops(*this);
    case jobs::Action::kill_ranks:
      send(SIGKILL);
      start_grace(last_grace_time);
      return place_.watcher.on_job_stops(*this);
    case jobs::Action::abandon:
      return abandon();
    case jobs::Action::drain:
      return drain();
    case jobs::Action::finish_undrained:
      output_.drop();
      [[fallthrough]];
    case jobs::Action::finish:
      return place_.watcher.on_job_over(*this);
  }
}

void JobRun::do_order(const jobs::EndRanks& order) {
  send(SIGTERM, order.ranks);
  send(SIGCONT, order.ranks);
  auto patience = std::make_shared<asio::steady_timer>(place_.loop, grace_time);
  patience->async_wait(
      [this, weak = std::weak_ptr(is_here_), patience, ranks = order.ranks](const asio::error_code& error) {
        if (!error && weak.lock()) send(SIGKILL, ranks);
      });
}

void JobRun::do_order(const jobs::Hold& order) {
  order.begins ? hold_.start(hold_time, [this] { carry_out(job_.hold_over()); }) : hold_.cancel();
}

void JobRun::send(int signal, const std::vector<Rank>& ranks) {
  if (local_ != nullptr) local_->send(signal, ranks);
  if (far_ != nullptr) far_->signal(signal, ranks);
}

void JobRun::stop_ranks() {
  send(SIGTERM);
  send(SIGCONT);  // a stopped process cannot obey
  start_grace(grace_time);
}

void JobRun::start_grace(std::chrono::seconds time) {
  grace_.start(time, [this] { carry_out(job_.raise(jobs::Event::grace_over)); });
}

void JobRun::abandon() {
  grace_.cancel();
  std::vector<messages::Where> left;
  for (const Rank rank : job_.ranks().running()) left.push_back(job_.where(rank));
  place_.run.console().print_result(
      messages::left_behind(left, far_ != nullptr ? far_->unsettled() : std::vector<std::string>()));
  input_->close();
  dismiss(std::nullopt);
  output_.drop();
  place_.watcher.on_job_over(*this);
}

void JobRun::drain() {
  grace_.cancel();
  input_->close();
  output_.drain();
  if (has_ranks_here()) node_->reap_orphans(*local_);  // they may hold the output pipes open
  dismiss(job_.ending());
  server_->announce_end_of_job(launch_.nspace, job_.ending());
  // A time limit holds for a slow reader of weftrun's output too; a limit that has not passed yet goes on.
  if (time_is_up_) start_grace(grace_time);
  if (output_.is_drained()) conclude();
}

/// The job has ended for all daemons. ending: nothing: ranks are left behind.
void JobRun::dismiss(const std::optional<job::Ending>& ending) {
  if (far_ != nullptr) cluster_->end(*far_, ending);
  place_.watcher.on_job_ending(*this);
}

void JobRun::leave() {
  place_.streams.remove(launch_.nspace);
  if (local_ != nullptr)
    node_->remove(*local_);
  else if (server_ != nullptr)
    server_->forget_job(launch_.nspace);
  if (far_ != nullptr) cluster_->remove(*far_);
  local_ = nullptr;
  far_ = nullptr;
  records_.set_up(nullptr, nullptr);
}

/// Ranks that do not find their runtime may each run as a job of one, and end well.
void JobRun::do_order(const jobs::LookForStrangers&) {
  const auto& interfaces = has_ranks_here() ? local_->interfaces() : interfaces_;
  for (std::size_t app = 0; !job_.has_connected() && app < std::min(interfaces.size(), launch_.apps.size());
       ++app) {
    // A rank that fails right after PMIx_Init may not have been heard of; one with another library never is.
    if (job_.exit_code() != 0 && interfaces[app].server_pmix.empty()) continue;
    const auto line = messages::not_of_the_job(launch_.apps[app].argv[0], interfaces[app], table_.size());
    if (!line.empty()) return place_.run.console().print_result(line);
  }
  if (!other_pmix_.empty()) say_if_library_is_lost();
}

/// A process of another job may have opened the other library: so a program that would use it must be in
/// sight.
void JobRun::say_if_library_is_lost() {
  const auto& app = launch_.apps[job_.stranger() ? table_.app_of(*job_.stranger()) : 0];
  const node::Variables& variables = launch_.environment;
  const auto program = libraries::user_of_pmix(
      app.argv, node::value_of(variables, "PATH"),
      {node::value_of(variables, "LD_LIBRARY_PATH"), app.directory.empty() ? "." : app.directory});
  if (program.empty()) return;
  const auto ranks = job_.has_connected() ? fmt::format("rank {} did not reach", number(*job_.stranger()))
                                          : fmt::format("none of the {} ranks reached", table_.size());
  place_.run.console().print_result(
      messages::library_lost(ranks, program, {node::library_file(), other_pmix_, other_pmix_host_}));
}

// ---- signals, time, output

void JobRun::on_end_signal(int signal) {
  carry_out(job_.raise(jobs::Event::end_signal,
                       {{exit_status::signal_base + signal, messages::ended_by_signal(signal)}}));
}

void JobRun::control(const job::ControlRequest& request, const std::vector<Rank>& ranks) {
  using What = job::ControlRequest::What;
  switch (request.what) {
    case What::signal:
      return send(request.signal, ranks);
    case What::pause:
      return send(SIGSTOP, ranks);
    case What::resume:
      return send(SIGCONT, ranks);
    case What::terminate:
    case What::kill:
      break;
  }
  const bool kills = request.what == What::kill;
  if (!ranks.empty()) {
    job_.expect_end(ranks);
    return kills ? send(SIGKILL, ranks) : do_order(jobs::EndRanks{ranks});
  }
  const int exit_code = exit_status::signal_base + (kills ? SIGKILL : SIGTERM);
  const auto line = messages::ended_by_control(nspace(), request.from.nspace, number(request.from.rank));
  if (kills) send(SIGKILL);  // before the SIGTERM that begins the end
  // Of a job that is killed already such an event would leave ranks behind.
  if (is_before_its_end()) carry_out(job_.raise(jobs::Event::end_signal, {{exit_code, line}}));
  if (kills && job_.state() == jobs::State::stopping)
    carry_out(job_.raise(jobs::Event::end_signal, {{exit_code, line}}));
}

void JobRun::end_with(const JobRun& other) {
  if (!is_before_its_end()) return;  // that it ends already is no second signal
  carry_out(job_.raise(jobs::Event::end_signal,
                       {{other.job_.exit_code(), messages::ended_with(nspace(), other.nspace())}}));
}

void JobRun::on_relayed_signal(int signal) {
  if (signal == SIGQUIT) return report_places([] {});
  // Ranks are in process groups of their own, so the terminal did not stop them.
  send(signal == SIGTSTP ? SIGSTOP : signal);
  // Perhaps in the foreground now. Before the ranks there is no reader of the input.
  if (signal == SIGCONT && job_.all_run()) input_->resume();
}

void JobRun::on_time_up(std::chrono::milliseconds limit) {
  time_is_up_ = true;
  if (job_.state() == jobs::State::running && !job_.ranks().running().empty())
    report_places([this, limit] { end_for_time(limit); });
  else
    end_for_time(limit);
}

void JobRun::end_for_time(std::chrono::milliseconds limit) {
  const double seconds = std::chrono::duration<double>(limit).count();
  carry_out(job_.raise(
      jobs::Event::time_up,
      {{exit_status::timed_out, is_starting()
                                    ? messages::timed_out_at_start(seconds)
                                    : messages::timed_out(seconds, job_.ranks().running(), table_.size())}}));
}

void JobRun::on_written() {
  // Posted, since a line that is printed for the job comes by here as well.
  if (job_.state() == jobs::State::draining && output_.is_drained())
    asio::post(place_.loop, [this, weak = std::weak_ptr(is_here_)] {
      if (weak.lock() && job_.state() == jobs::State::draining) conclude();
    });
}

/// The output of all ranks is written. If some failed and the rest went on, a line is left to print, and
/// perhaps the account of the start.
void JobRun::conclude() {
  if (const auto summary = job_.take_summary(); !summary.empty()) place_.run.console().print_result(summary);
  records_.print_account();
  if (!output_.is_drained()) return;
  carry_out(job_.raise(jobs::Event::output_done));
}

void JobRun::on_reader_lost(job::Stream stream) {
  output_.close(stream);
  if (far_ != nullptr) far_->close_output(stream);
}

void JobRun::on_output_lost(const std::string& what, int error) {
  carry_out(
      job_.raise(jobs::Event::output_lost, {{exit_status::own_failure, messages::output_lost(what, error)}}));
}

}  // namespace weft::weftrun
