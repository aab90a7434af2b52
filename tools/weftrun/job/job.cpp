// SPDX-License-Identifier: BSD-3-Clause
// Job, second part: events and actions.
#include "tools/weftrun/job/job.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tools/libraries/command_look.hpp"
#include "tools/messages/stop.hpp"
#include "tools/process/held_signals.hpp"
#include "tools/weftrun/daemons/launch_message.hpp"

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

/// An exit status has eight bits; a status that is not 0 must not become 0.
int exit_code_for(int status) noexcept {
  const int code = status & 0xff;
  return code == 0 && status != 0 ? 1 : code;
}

/// The status of the job for an event that ends it; a rank that fails is noted with a status of its own.
pmix_status_t term_status_of(Event event) noexcept {
  switch (event) {
    case Event::abort_called:
      return PMIX_ERR_JOB_ABORTED;
    case Event::end_signal:
      return PMIX_ERR_JOB_KILLED_BY_CMD;
    case Event::start_failed:
      return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    case Event::node_lost:
      return PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT;
    default:
      return PMIX_ERR_JOB_CANCELED;
  }
}

}  // namespace

int Job::run() {
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
  if (daemons_) {
    daemons_->start();
    constexpr std::chrono::seconds short_start{3};
    if (::isatty(STDERR_FILENO) == 1) show_progress(short_start);
  } else {
    is_launched_ = true;
    start_own_ranks();
  }
  loop_.run();
  if (local_) local_->reap_orphans();
  print_times();
  if (local_)
    console_->print_detail(fmt::format("{} of {} ranks{} connected to the PMIx server",
                                       local_->count_connected(), local_->all().size(),
                                       plan_.alone ? "" : " of this node"));
  console_->print_detail(fmt::format("exit status {}", outcome_.exit_code()));
  return outcome_.exit_code();
}

void Job::raise(Event event, int exit_code, const std::string& line, const std::optional<AboutRank>& about) {
  const Step& now = step(state_, event);
  const State before = state_;
  state_ = now.next;
  if (before != state_)
    console_->print_detail(fmt::format("{}: {} -> {}", name_of(event), name_of(before), name_of(state_)));
  if (now.is_reason && outcome_.set_reason(exit_code)) {
    if (event != Event::rank_failed) ending_.status = term_status_of(event);
    console_->print_result(line, about);
  }
  act(now.action);
}

void Job::fail(Event event, int exit_code, const std::string& what, const std::string& line,
               const std::optional<AboutRank>& about) {
  if (!continues()) return raise(event, exit_code, line, about);
  outcome_.record_failure(exit_code, what);
  console_->print_result(line, about);
}

/// A job of which a part was never launched cannot continue without it.
bool Job::continues() const noexcept {
  return options_.on_failure == OnFailure::go_on && is_launched_ &&
         (state_ == State::starting || state_ == State::running);
}

std::string_view Job::consequence() const noexcept {
  return continues() ? messages::others_go_on : messages::end_of_job;
}

void Job::act(Action action) {
  switch (action) {
    case Action::nothing:
      return;
    case Action::stop_ranks:
      return stop_ranks();
    case Action::kill_ranks:
      send(SIGKILL);
      return start_grace(last_grace_time);
    case Action::abandon:
      return abandon();
    case Action::drain:
      return drain();
    case Action::finish_undrained:
      output_->drop_all();
      [[fallthrough]];
    case Action::finish:
      return finish();
  }
}

void Job::send(int signal, const std::vector<Rank>& ranks) {
  if (local_) local_->send(signal, ranks);
  if (daemons_) daemons_->signal(signal, ranks);
}

void Job::stop_ranks() {
  send(SIGTERM);
  send(SIGCONT);  // a stopped process cannot obey
  start_grace(grace_time);
}

void Job::start_grace(std::chrono::seconds time) {
  grace_.start(time, [this] { raise(Event::grace_over); });
}

/// Whatever the reason for the job's end was: a job of which a part runs on has not ended well.
void Job::abandon() {
  grace_.cancel();
  outcome_.override_status(exit_status::own_failure);
  std::vector<messages::Where> left;
  for (const Rank rank : ranks_.running()) left.push_back(where(rank));
  console_->print_result(
      messages::left_behind(left, daemons_ ? daemons_->unsettled() : std::vector<std::string>()));
  input_->close();
  if (daemons_) daemons_->end();
  output_->drop_all();
  finish();
}

void Job::drain() {
  grace_.cancel();
  input_->close();
  if (local_) local_->reap_orphans();  // they may hold the output pipes open
  server_->announce_end_of_job(launch_.nspace, ending_);
  if (daemons_) daemons_->end(ending_);
  // A time limit holds for a slow reader of weftrun's output too; a limit that has not passed yet goes on.
  if (time_is_up_) start_grace(grace_time);
  if (output_->is_drained()) conclude();
}

void Job::finish() {
  if (daemons_)
    daemons_->finish(leaving_time);
  else
    loop_.stop();
}

void Job::on_all_exited() {
  loop_.stop();
}

// ---- ranks, wherever they are

void Job::announce_start() {
  if (!std::exchange(has_announced_start_, true)) server_->announce_job(PMIX_EVENT_JOB_START, launch_.nspace);
}

void Job::on_node_runs() {
  if (--nodes_to_start_ != 0) return;
  server_->announce_job(PMIX_LAUNCH_COMPLETE, launch_.nspace);
  all_started_ = Clock::now();
  raise(Event::started);
  input_->resume();
}

void Job::on_node_settled(std::uint32_t) {
  if (--nodes_to_settle_ != 0) return;
  say_why_ranks_are_strangers();
  raise(Event::all_gone);
}

/// Ranks that do not find their runtime may each run as a job of one, and end well.
void Job::say_why_ranks_are_strangers() {
  if (nodes_to_start_ != 0 || (has_connected_ && !stranger_)) return;
  const auto& interfaces = local_ ? local_->interfaces() : interfaces_;
  for (std::size_t app = 0; !has_connected_ && app < std::min(interfaces.size(), launch_.apps.size());
       ++app) {
    // A rank that fails right after PMIx_Init may not have been heard of; one with another library never is.
    if (outcome_.exit_code() != 0 && interfaces[app].server_pmix.empty()) continue;
    const auto line = messages::not_of_the_job(launch_.apps[app].argv[0], interfaces[app], table_.size());
    if (!line.empty()) return console_->print_result(line);
  }
  if (!other_pmix_.empty()) say_if_library_is_lost();
}

/// A process of another job may have opened the other library: so a program that would use it must be in
/// sight.
void Job::say_if_library_is_lost() {
  const auto& app = launch_.apps[stranger_ ? table_.app_of(*stranger_) : 0];
  const ranks::Variables& variables = launch_.environment;
  const auto program = libraries::user_of_pmix(
      app.argv, ranks::value_of(variables, "PATH"),
      {ranks::value_of(variables, "LD_LIBRARY_PATH"), app.directory.empty() ? "." : app.directory});
  if (program.empty()) return;
  const auto ranks = has_connected_ ? fmt::format("rank {} did not reach", number(*stranger_))
                                    : fmt::format("none of the {} ranks reached", table_.size());
  console_->print_result(
      messages::library_lost(ranks, program, {ranks::library_file(), other_pmix_, other_pmix_host_}));
}

/// Reports of other nodes overtake each other: ranks that leave because a rank is lost may be told of before
/// that rank is.
void Job::on_rank_end(const ranks::LocalRanks::Ended& ended, WrittenBytes written) {
  ranks_.set_ended(ended.rank);
  has_connected_ |= ended.connected;
  if (may_hold_ends_ && ended.after && ranks_.is_running(*ended.after)) {
    if (held_ends_.empty())
      hold_.start(hold_time, [this] {
        may_hold_ends_ = false;  // the process of that rank lives on without its connection
        judge_held_ends();
      });
    return held_ends_.emplace_back(ended, written), void();
  }
  judge_end(ended, written);
  if (!held_ends_.empty() && !ranks_.is_running(*held_ends_.front().first.after)) judge_held_ends();
}

void Job::judge_held_ends() {
  hold_.cancel();
  for (const auto& [ended, written] : std::exchange(held_ends_, {})) judge_end(ended, written);
}

void Job::judge_end(const ranks::LocalRanks::Ended& ended, WrittenBytes written) {
  const auto rank = ended.rank;
  const int status = ended.wait_status;
  const bool connected = ended.connected, finalized = ended.finalized;
  if (ranks_.is_end_expected(rank)) return;
  const auto failed = [&](int exit_code, pmix_status_t how, const std::string& line) {
    const bool is_first = state_ == State::starting || state_ == State::running;
    if (!ending_.failed && !connected) stranger_ = rank;
    note_failure(rank, exit_code, how);
    fail(Event::rank_failed, exit_code, fmt::format("rank {}", number(rank)), line, AboutRank{rank, written});
    if (is_first && connected) say_absentees();
  };
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    failed(exit_status::signal_base + signal, PMIX_ERR_JOB_ABORTED_BY_SIG,
           messages::rank_killed(where(rank), signal, WCOREDUMP(status), consequence()));
  } else if (WEXITSTATUS(status) != 0) {
    failed(WEXITSTATUS(status), PMIX_ERR_JOB_NON_ZERO_TERM,
           messages::rank_failed(where(rank), WEXITSTATUS(status), connected && !finalized, consequence()));
  } else if (connected && !finalized) {
    failed(1, PMIX_ERR_JOB_TERM_WO_SYNC, messages::rank_left_without_finalize(where(rank), consequence()));
  } else if (!connected) {
    absentees_.push_back(rank);
  }
}

/// A rank that was connected has failed: a call of it may have waited for these. Where none does they are no
/// news: programs without PMIx run beside others.
void Job::say_absentees() {
  if (absentees_.empty()) return;
  std::sort(absentees_.begin(), absentees_.end());
  console_->print_result(messages::ended_without_init(where(absentees_.front()), absentees_));
  absentees_.clear();
}

/// The first one counts; those that fail while the job is ended were told to.
void Job::note_failure(Rank rank, int exit_code, pmix_status_t how) {
  if (ending_.failed || (state_ != State::starting && state_ != State::running)) return;
  ending_ = {how, rank, exit_code};
}

void Job::on_connected_late(Rank rank) {
  has_connected_ = true;
  if (ranks_.is_end_expected(rank)) return;
  note_failure(rank, 1, PMIX_ERR_JOB_TERM_WO_SYNC);
  fail(Event::rank_failed, 1, fmt::format("rank {}", number(rank)),
       messages::rank_left_without_finalize(where(rank), consequence()), AboutRank{rank});
}

void Job::on_aborted(const host::AbortRequest& request) {
  const bool whole_job = request.named.empty() || request.named.size() >= table_.size();
  note_failure(request.from, exit_code_for(request.status), PMIX_ERR_JOB_ABORTED);
  if (!whole_job) return end_named(request);
  const bool is_first = state_ == State::starting || state_ == State::running;
  raise(Event::abort_called, exit_code_for(request.status),
        messages::rank_aborted(where(request.from), request.status, request.message, {}),
        AboutRank{request.from});
  if (is_first) say_absentees();
}

/// PMIx_Abort for some ranks: the others go on, and the status is kept for the job's end.
void Job::end_named(const host::AbortRequest& request) {
  const int exit_code = exit_code_for(request.status);
  if (continues())
    outcome_.record_failure(exit_code, fmt::format("rank {}", number(request.from)));
  else
    outcome_.set_status(exit_code);
  console_->print_result(
      messages::rank_aborted(where(request.from), request.status, request.message, request.named));
  ranks_.expect_end(request.named);
  send(SIGTERM, request.named);
  send(SIGCONT, request.named);
  auto patience = std::make_shared<asio::steady_timer>(loop_, grace_time);
  patience->async_wait([this, patience, named = request.named](const asio::error_code& error) {
    if (!error) send(SIGKILL, named);
  });
}

// ---- signals, time, output

void Job::on_end_signal(int signal) {
  raise(Event::end_signal, exit_status::signal_base + signal, messages::ended_by_signal(signal));
}

void Job::on_relayed_signal(int signal) {
  if (signal == SIGTSTP) {
    // Ranks are in process groups of their own, so the terminal did not stop them. With daemons weftrun
    // itself goes on: a launcher that does not answer would be lost to them.
    send(SIGSTOP);
    if (!daemons_) ::kill(::getpid(), SIGSTOP);
    return;
  }
  send(signal);
  // Perhaps in the foreground now. Before the ranks there is no reader of the input.
  if (signal == SIGCONT && nodes_to_start_ == 0) input_->resume();
}

void Job::on_time_up() {
  time_is_up_ = true;
  const double seconds = std::chrono::duration<double>(*options_.limit).count();
  raise(Event::time_up, exit_status::timed_out,
        state_ == State::starting ? messages::timed_out_at_start(seconds)
                                  : messages::timed_out(seconds, ranks_.running(), table_.size()));
}

void Job::on_output_drained() {
  // Posted, since a line that raise() prints comes by here as well.
  if (state_ == State::draining) asio::post(loop_, [this] { conclude(); });
}

/// The output of all ranks is written. If some failed and the rest went on, one line is left to print.
void Job::conclude() {
  const auto summary = outcome_.summary();
  if (state_ == State::draining && !summary.empty() && !std::exchange(has_concluded_, true)) {
    console_->print_result(summary);
    if (!output_->is_drained()) return;
  }
  raise(Event::output_done);
}

/// Closes the ranks' ends of the stream, so that all is as without weftrun: a rank that writes to a stream
/// without a reader gets SIGPIPE, and decides.
void Job::on_reader_lost(channel::Stream stream) {
  if (daemons_) daemons_->close_output(stream);
  console_->print_detail(
      messages::reader_gone(stream == channel::Stream::out ? "standard output" : "standard error"));
}

void Job::print_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  console_->print_detail(
      fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                  since(served_), since(all_started_), since(Clock::now())));
}

messages::Where Job::where(Rank rank) const {
  return {rank, plan_.nodes[table_.node_of(rank)].name, ranks_.pid(rank),
          launch_.apps[table_.app_of(rank)].argv[0], output_->error_file(rank, launch_.merges_errors)};
}

}  // namespace weft::weftrun
