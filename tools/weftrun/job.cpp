// SPDX-License-Identifier: BSD-3-Clause
// Job, second part: from running ranks to the exit status.
#include "tools/weftrun/job.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <memory>

#include "tools/node/stop.hpp"

namespace weft::weftrun {
namespace {

constexpr std::chrono::seconds grace_time{2};

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// Eight bits are left of a status; one that is not 0 stays so.
int exit_code_for(int status) noexcept {
  const int code = status & 0xff;
  return code == 0 && status != 0 ? 1 : code;
}

}  // namespace

int Job::run() {
  plan();
  output_ = std::make_unique<Output>(
      loop_, options_.output_directory, options_.tag_output,
      Output::Events{[this] { on_output_drained(); },
                     [this](const char* stream, int error) { on_output_lost(stream, error); }});
  find_programs();
  guard_ = std::make_unique<Guard>(map_.nspace);  // while there is one thread
  orphans_ = std::make_unique<Orphans>(map_.nspace, guard_->pid());
  start_server();
  served_ = Clock::now();
  report_bindings();
  report_environment();
  input_ = std::make_unique<Input>(loop_, options_.input, map_.size);
  processes_ = std::make_unique<Processes>(map_.size);
  catch_signals();
  start_ranks();
  all_started_ = Clock::now();
  input_->resume();
  loop_.run();
  report_times();
  explain(fmt::format("{} of {} ranks connected to the PMIx server; exit status {}",
                      server_->count_connected(), map_.size, exit_code_));
  return exit_code_;
}

void Job::catch_signals() {
  sigset_t children;  // a parent may have left it blocked, and without it no end would ever be seen
  ::sigemptyset(&children);
  ::sigaddset(&children, SIGCHLD);
  ::pthread_sigmask(SIG_UNBLOCK, &children, nullptr);
  child_signals_.add(SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) end_signals_.add(signal);  // nohup stays in force
  }
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    if (!is_ignored(signal)) relayed_signals_.add(signal);
  }
  await_child_signal();
  await_end_signal();
  await_relayed_signal();
  if (!options_.limit) return;
  limit_.expires_after(*options_.limit);
  limit_.async_wait([this](const asio::error_code& error) {
    if (!error) on_time_up();
  });
}

void Job::await_child_signal() {
  child_signals_.async_wait([this](const asio::error_code& error, int) {
    if (error) return;
    await_child_signal();  // first: an exit during collect() is signalled again
    collect_ranks();
  });
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

void Job::raise(Event event, int exit_code, const std::string& line, std::optional<Rank> about) {
  const Step& now = step(state_, event);
  const State before = state_;
  state_ = now.next;
  if (before != state_)
    explain(fmt::format("{}: {} -> {}", name_of(event), name_of(before), name_of(state_)));
  if (now.is_reason && !has_reason_) {
    has_reason_ = true;
    exit_code_ = exit_code;
    if (!options_.quiet) about ? output_->say_after(*about, line) : say(line);
  }
  act(now.action);
}

void Job::act(Action action) {
  switch (action) {
    case Action::nothing:
      return;
    case Action::stop_ranks:
      return stop_ranks();
    case Action::kill_ranks:
      return processes_->send(SIGKILL);
    case Action::drain:
      return drain();
    case Action::finish_undrained:
      output_->abandon();
      [[fallthrough]];
    case Action::finish:
      return loop_.stop();
  }
}

void Job::stop_ranks() {
  processes_->send(SIGTERM);
  processes_->send(SIGCONT);  // a stopped process cannot obey
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
  orphans_->end();  // also what keeps the pipes open for writing
  // A time limit holds for a slow reader of weftrun's output too; one that is not over yet goes on.
  if (time_is_up_) start_grace();
  if (output_->is_drained()) raise(Event::output_done);
}

void Job::collect_ranks() {
  for (const auto& ended : processes_->collect()) on_rank_end(ended);
  if (processes_->living() != 0 || settling_ || state_ == State::draining || state_ == State::done) return;
  // A job that seems to have gone well may hold a rank that left right after PMIx_Init.
  settling_ =
      !has_reason_ && server_->settle([this] { asio::post(loop_, [this] { raise(Event::all_gone); }); });
  if (!settling_) raise(Event::all_gone);
}

void Job::on_rank_end(const Processes::Ended& ended) {
  const auto [rank, status] = ended;
  input_->disconnect(rank);
  server_->ended(rank);
  if (expected_[index(rank)]) return;
  const bool connected = server_->has_connected(rank);
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    raise(Event::rank_failed, exit_status::signal_base + signal,
          messages::rank_killed(where(rank), signal, WCOREDUMP(status)), rank);
  } else if (WEXITSTATUS(status) != 0) {
    raise(Event::rank_failed, WEXITSTATUS(status),
          messages::rank_failed(where(rank), WEXITSTATUS(status), connected && !server_->has_finalized(rank)),
          rank);
  } else if (connected && !server_->has_finalized(rank)) {
    raise(Event::rank_failed, 1, messages::rank_left_without_finalize(where(rank)), rank);
  }
}

void Job::on_late_connection(Rank rank) {
  if (expected_[index(rank)]) return;
  raise(Event::rank_failed, 1, messages::rank_left_without_finalize(where(rank)), rank);
}

void Job::on_abort(const AbortRequest& request) {
  const bool whole_job = request.named.empty() || request.named.size() >= map_.size;
  if (!whole_job) return end_named(request);
  raise(Event::abort_called, exit_code_for(request.status),
        messages::rank_aborted(where(request.from), request.status, request.message, {}), request.from);
}

/// PMIx_Abort for some ranks: the others go on, the status is kept for the job's end.
void Job::end_named(const AbortRequest& request) {
  if (!has_reason_) exit_code_ = exit_code_for(request.status);
  if (!options_.quiet) {
    say(messages::rank_aborted(where(request.from), request.status, request.message, request.named));
  }
  for (const Rank rank : request.named) {
    if (index(rank) < expected_.size()) expected_[index(rank)] = true;
  }
  processes_->send(SIGTERM, request.named);
  processes_->send(SIGCONT, request.named);
  auto patience = std::make_shared<asio::steady_timer>(loop_, grace_time);
  patience->async_wait([this, patience, named = request.named](const asio::error_code& error) {
    if (!error) processes_->send(SIGKILL, named);
  });
}

void Job::on_end_signal(int signal) {
  raise(Event::end_signal, exit_status::signal_base + signal, messages::ended_by_signal(signal));
}

void Job::on_relayed_signal(int signal) {
  if (signal == SIGTSTP) {
    // Ranks are in process groups of their own, so the terminal did not reach them.
    processes_->send(SIGSTOP);
    ::kill(::getpid(), SIGSTOP);
    return;
  }
  processes_->send(signal);
  if (signal == SIGCONT) input_->resume();  // perhaps in the foreground now
}

void Job::on_time_up() {
  time_is_up_ = true;
  const double seconds = std::chrono::duration<double>(*options_.limit).count();
  raise(Event::time_up, exit_status::timed_out,
        messages::timed_out(seconds, processes_->living_ranks(), map_.size));
}

void Job::on_output_drained() {
  // Posted, since a line said in the middle of raise() comes by here as well.
  if (state_ == State::draining) asio::post(loop_, [this] { raise(Event::output_done); });
}

void Job::on_output_lost(const char* stream, int error) {
  if (error != EPIPE)
    return raise(Event::output_lost, exit_status::own_failure, messages::output_lost(stream, error));
  // As without weftrun: whoever writes to a reader that has gone is told so by SIGPIPE, and decides.
  explain(messages::reader_gone(stream));
}

void Job::say(const std::string& line) {
  output_->say(line);
}

void Job::explain(const std::string& text) {
  if (options_.verbose) say(messages::note(text));
}

void Job::report_bindings() {
  if (!options_.report_bindings && !options_.verbose) return;
  for (std::uint32_t r = 0; r < map_.size; ++r) {
    say(messages::binding(Rank{r}, map_.host, map_.places[r].label, map_.places[r].processors));
  }
}

void Job::report_environment() {
  if (!options_.verbose) return;
  explain(fmt::format("job {}: {} ranks on {} cores, map-by {}, bind-to {}{}", map_.nspace, map_.size,
                      map_.cores, name_of(map_.policy.map), name_of(map_.policy.bind),
                      map_.policy.oversubscribed ? ", oversubscribed" : ""));
  char** end = environ;
  while (*end != nullptr) ++end;
  for (std::size_t a = 0; a < map_.apps.size(); ++a) {
    for (const auto& variable : app_environments_[a]) {
      const bool is_old = std::find(environ, end, variable) != end;
      if (!is_old) explain(fmt::format("for {}: {}", map_.apps[a].argv[0], variable));
    }
  }
  Variables own = server_->environment_of(Rank{0});
  for (const auto& variable : rank_environment(Rank{0}, map_.size)) own.push_back(variable);
  for (const auto& variable : own) explain(fmt::format("for rank 0: {}", variable));
}

void Job::report_times() {
  const auto since = [this](Clock::time_point at) {
    return std::chrono::duration<double, std::milli>(at - begun_).count();
  };
  explain(fmt::format("server ready after {:.1f} ms, ranks started after {:.1f} ms, all over after {:.1f} ms",
                      since(served_), since(all_started_), since(Clock::now())));
}

messages::Where Job::where(Rank rank) const {
  return {rank, map_.host, processes_->pid(rank), map_.apps[map_.app_of(rank)].argv[0],
          output_->error_file(rank)};
}

}  // namespace weft::weftrun
