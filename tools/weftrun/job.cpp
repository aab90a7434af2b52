// SPDX-License-Identifier: BSD-3-Clause
// Job, second part: from running ranks to the exit status.
#include "tools/weftrun/job.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cstdlib>
#include <memory>
#include <utility>

#include "tools/messages/stop.hpp"

namespace weft::weftrun {
namespace {

using job::Rank;
namespace exit_status = messages::exit_status;

constexpr std::chrono::seconds grace_time{2};
/// For daemons to leave when everything is over; then they get SIGTERM and, as much later, SIGKILL.
constexpr std::chrono::seconds leaving_time{2};

/// Eight bits are left of a status; one that is not 0 stays so.
int exit_code_for(int status) noexcept {
  const int code = status & 0xff;
  return code == 0 && status != 0 ? 1 : code;
}

}  // namespace

int Job::run() {
  plan_launch();
  // UCX writes what it complains of to standard output, which is the ranks'. They have got their environment by now.
  ::setenv("UCX_LOG_FILE", "stderr", 0);
  output_ = std::make_unique<Output>(
      loop_, options_.output_directory, options_.tag_output,
      Output::Events{
          [this] { on_output_drained(); }, [this](channel::Stream stream) { on_output_unread(stream); },
          [this](const std::string& what, int error) {
            raise(Event::output_lost, exit_status::own_failure, messages::output_lost(what, error));
          }});
  plan_own_node();
  start_server();
  served_ = Clock::now();
  report_environment();
  make_input();
  catch_signals();
  if (daemons_)
    daemons_->start();
  else
    is_launched_ = true, start_own_ranks();
  loop_.run();
  if (local_) local_->reap_orphans();
  report_times();
  if (local_)
    explain(fmt::format("{} of {} ranks{} connected to the PMIx server", local_->count_connected(),
                        local_->all().size(), plan_.alone ? "" : " of this node"));
  explain(fmt::format("exit status {}", exit_code_));
  return exit_code_;
}

void Job::await_end_signal() {
  end_signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (error) return;
    await_end_signal();
    on_end_signal(signal);
  });
}

void Job::await_relayed_signal() {
  relayed_signals_.async_wait([this](const asio::error_code& error, int signal) {
    if (error) return;
    await_relayed_signal();
    on_relayed_signal(signal);
  });
}

void Job::raise(Event event) {
  raise(event, exit_code_, {});
}

void Job::raise(Event event, int exit_code, const std::string& line, std::optional<About> about) {
  const Step& now = step(state_, event);
  const State before = state_;
  state_ = now.next;
  if (before != state_)
    explain(fmt::format("{}: {} -> {}", name_of(event), name_of(before), name_of(state_)));
  if (now.is_reason && !has_reason_) {
    has_reason_ = true;
    exit_code_ = exit_code;
    tell(line, about);
  }
  act(now.action);
}

void Job::fail(Event event, int exit_code, const std::string& who, const std::string& line,
               std::optional<About> about) {
  if (!goes_on()) return raise(event, exit_code, line, about);
  bear(exit_code, who);
  tell(line, about);
}

/// A job of which a part was never launched cannot.
bool Job::goes_on() const noexcept {
  return options_.on_failure == OnFailure::go_on && is_launched_ &&
         (state_ == State::starting || state_ == State::running);
}

void Job::bear(int exit_code, const std::string& who) {
  if (failures_++ != 0) return;
  exit_code_ = exit_code;
  first_failure_ = who;
}

std::string_view Job::then() const noexcept {
  return goes_on() ? messages::others_go_on : messages::end_of_job;
}

void Job::tell(const std::string& line, const std::optional<About>& about) {
  if (options_.quiet) return;
  about ? output_->print_after(about->rank, "weftrun: " + line, about->said) : say(line);
}

void Job::act(Action action) {
  switch (action) {
    case Action::nothing:
      return;
    case Action::stop_ranks:
      return stop_ranks();
    case Action::kill_ranks:
      return send(SIGKILL);
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
  start_grace();
}

void Job::start_grace() {
  grace_.expires_after(grace_time);
  grace_.async_wait([this, round = ++grace_round_](const asio::error_code& error) {
    if (!error && round == grace_round_) raise(Event::grace_over);
  });
}

void Job::drain() {
  ++grace_round_;
  grace_.cancel();
  input_->close();
  if (local_) local_->reap_orphans();  // also what keeps the pipes open for writing
  if (daemons_) daemons_->end();
  // A time limit holds for a slow reader of weftrun's output too; one that is not over yet goes on.
  if (time_is_up_) start_grace();
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

void Job::on_node_runs() {
  if (--nodes_to_start_ != 0) return;
  all_started_ = Clock::now();
  raise(Event::started);
  input_->resume();
}

void Job::on_node_settled(std::uint32_t) {
  if (--nodes_to_settle_ == 0) raise(Event::all_gone);
}

void Job::on_rank_end(const ranks::LocalRanks::Ended& ended, WrittenBytes said) {
  const auto [rank, status, connected, finalized] = ended;
  auto& state = ranks_[index(rank)];
  state.lives = false;
  if (state.is_expected) return;
  const auto failed = [&](int exit_code, const std::string& line) {
    fail(Event::rank_failed, exit_code, fmt::format("rank {}", number(rank)), line, About{rank, said});
  };
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    failed(exit_status::signal_base + signal,
           messages::rank_killed(where(rank), signal, WCOREDUMP(status), then()));
  } else if (WEXITSTATUS(status) != 0) {
    failed(WEXITSTATUS(status),
           messages::rank_failed(where(rank), WEXITSTATUS(status), connected && !finalized, then()));
  } else if (connected && !finalized) {
    failed(1, messages::rank_left_without_finalize(where(rank), then()));
  }
}

void Job::on_connected_late(Rank rank) {
  if (ranks_[index(rank)].is_expected) return;
  fail(Event::rank_failed, 1, fmt::format("rank {}", number(rank)),
       messages::rank_left_without_finalize(where(rank), then()), About{rank});
}

void Job::on_aborted(const host::AbortRequest& request) {
  const bool whole_job = request.named.empty() || request.named.size() >= table_.size();
  if (!whole_job) return end_named(request);
  raise(Event::abort_called, exit_code_for(request.status),
        messages::rank_aborted(where(request.from), request.status, request.message, {}),
        About{request.from});
}

/// PMIx_Abort for some ranks: the others go on, the status is kept for the job's end.
void Job::end_named(const host::AbortRequest& request) {
  const int exit_code = exit_code_for(request.status);
  if (goes_on())
    bear(exit_code, fmt::format("rank {}", number(request.from)));
  else if (!has_reason_)
    exit_code_ = exit_code;
  if (!options_.quiet) {
    say(messages::rank_aborted(where(request.from), request.status, request.message, request.named));
  }
  for (const Rank rank : request.named) {
    if (index(rank) < ranks_.size()) ranks_[index(rank)].is_expected = true;
  }
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
    // Ranks are in process groups of their own, so the terminal did not reach them. With daemons weftrun itself goes on:
    // one that does not answer is lost to them.
    send(SIGSTOP);
    if (!daemons_) ::kill(::getpid(), SIGSTOP);
    return;
  }
  send(signal);
  if (signal == SIGCONT) input_->resume();  // perhaps in the foreground now
}

void Job::on_time_up() {
  time_is_up_ = true;
  const double seconds = std::chrono::duration<double>(*options_.limit).count();
  raise(Event::time_up, exit_status::timed_out, messages::timed_out(seconds, living_ranks(), table_.size()));
}

void Job::on_output_drained() {
  // Posted, since a line said in the middle of raise() comes by here as well.
  if (state_ == State::draining) asio::post(loop_, [this] { conclude(); });
}

/// All that ranks have said is written. Where some failed and the rest went on, one line more.
void Job::conclude() {
  if (state_ == State::draining && failures_ != 0 && !has_reason_ && !options_.quiet &&
      !std::exchange(has_concluded_, true)) {
    say(messages::went_on(failures_, exit_code_, first_failure_));
    if (!output_->is_drained()) return;
  }
  raise(Event::output_done);
}

/// As without weftrun: whoever writes to a reader that has gone is told so by SIGPIPE, and decides.
void Job::on_output_unread(channel::Stream stream) {
  if (daemons_) daemons_->close_output(stream);
  explain(messages::reader_gone(stream == channel::Stream::out ? "standard output" : "standard error"));
}

// ---- what is told

void Job::say(const std::string& line) {
  output_->print("weftrun: " + line);
}

void Job::explain(const std::string& text) {
  if (options_.verbose) say(text);
}

void Job::report_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  explain(fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                      since(served_), since(all_started_), since(Clock::now())));
}

std::vector<Rank> Job::living_ranks() const {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].lives) ranks.push_back(job::rank_at(i));
  return ranks;
}

messages::Where Job::where(Rank rank) const {
  return {rank, plan_.nodes[table_.node_of(rank)].name, ranks_[index(rank)].pid,
          launch_.apps[table_.app_of(rank)].argv[0], output_->error_file(rank)};
}

}  // namespace weft::weftrun
