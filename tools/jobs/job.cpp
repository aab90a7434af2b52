// SPDX-License-Identifier: BSD-3-Clause
#include "tools/jobs/job.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "tools/jobs/output_file.hpp"
#include "tools/messages/stop.hpp"

namespace weft::jobs {
namespace {

using job::Rank;
namespace exit_status = messages::exit_status;

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

std::uint32_t count_nodes(const placement::RankTable& table) {
  std::uint32_t out = 0;
  for (std::uint32_t node = 0; node < table.nodes(); ++node) out += table.ranks_on(node).empty() ? 0 : 1;
  return out;
}

}  // namespace

Job::Job(Plan plan, const placement::RankTable& table)
    : plan_(std::move(plan)),
      table_(table),
      ranks_(table.size()),
      nodes_to_start_(count_nodes(table)),
      nodes_to_settle_(nodes_to_start_) {
  expect_held();
}

messages::Where Job::where(Rank rank) const {
  const auto& files = plan_.output_directory;
  return {rank,
          plan_.hosts[table_.node_of(rank)],
          ranks_.pid(rank),
          plan_.programs[table_.app_of(rank)],
          files.empty()
              ? std::string()
              : output_file(files, rank, plan_.merges_errors ? job::Stream::out : job::Stream::error),
          plan_.name};
}

// ---- steps of the table

Orders Job::raise(Event event, const std::optional<Reason>& reason) {
  reason ? step_by(event, reason->exit_code, reason->line) : step_by(event);
  return done();
}

void Job::step_by(Event event, int exit_code, Text line, const std::optional<AboutRank>& about) {
  const Step& now = step(state_, event);
  const State before = std::exchange(state_, now.next);
  if (before != state_)
    say(Say::What::detail, fmt::format("{}: {} -> {}", name_of(event), name_of(before), name_of(state_)));
  if (now.is_reason && outcome_.set_reason(exit_code)) {
    if (event != Event::rank_failed) ending_.status = term_status_of(event);
    say(Say::What::result, line, about);
  }
  // Whatever the reason for the job's end was: a job of which a part runs on has not ended well.
  if (now.action == Action::abandon) outcome_.override_status(exit_status::own_failure);
  if (now.action != Action::nothing) orders_.emplace_back(now.action);
}

/// A rank or node is lost (what: "rank 3"): with `goes_on` the failure is recorded.
void Job::fail(Event event, int exit_code, Text what, Text line, const std::optional<AboutRank>& about) {
  if (!continues()) return step_by(event, exit_code, line, about);
  outcome_.record_failure(exit_code, what);
  say(Say::What::result, line, about);
}

void Job::say(Say::What what, std::string line, const std::optional<AboutRank>& about) {
  orders_.emplace_back(Say{what, std::move(line), about});
}

std::string_view Job::consequence() const noexcept {
  return continues() ? messages::others_go_on : messages::end_of_job;
}

std::string Job::take_summary() {
  if (state_ != State::draining || std::exchange(has_summed_up_, true)) return {};
  return outcome_.summary();
}

// ---- nodes

Orders Job::started(const Started& report) {
  const auto ranks = table_.ranks_on(report.node);
  for (std::size_t i = 0; i < std::min(report.pids.size(), ranks.size()); ++i)
    ranks_.set_started(ranks[i], report.pids[i]);
  const bool is_any = std::any_of(report.pids.begin(), report.pids.end(), [](auto pid) { return pid > 0; });
  if (is_any && !std::exchange(has_announced_start_, true))
    orders_.emplace_back(Announce{PMIX_EVENT_JOB_START});
  if (!report.failure.empty()) {
    step_by(Event::start_failed, report.exit_code == 0 ? exit_status::own_failure : report.exit_code,
            report.failure);
    return done();
  }
  if (--nodes_to_start_ == 0) {
    orders_.emplace_back(Announce{PMIX_LAUNCH_COMPLETE});
    step_by(Event::started);
  }
  return done();
}

Orders Job::node_settled() {
  if (--nodes_to_settle_ != 0) return {};
  if (nodes_to_start_ == 0 && (!has_connected_ || stranger_)) orders_.emplace_back(LookForStrangers{});
  step_by(Event::all_gone);
  return done();
}

Orders Job::node_lost(std::uint32_t node, const std::string& line) {
  if (!line.empty())
    fail(Event::node_lost, exit_status::own_failure, fmt::format("node {}", plan_.hosts[node]), line);
  for (const Rank rank : table_.ranks_on(node)) ranks_.set_ended(rank);
  for (const auto& held : held_nodes_.lost(node)) announce(held);
  judge_held();
  return done();
}

// ---- ranks that stop for a debugger

void Job::expect_held() {
  if (plan_.stops.empty()) return;
  for (std::uint32_t r = 0; r < table_.size(); ++r)
    for (const auto point : job::all_stop_points)
      if (plan_.stops[table_.app_of(Rank{r})].at(point).includes(Rank{r}))
        held_nodes_.expect(point, table_.node_of(Rank{r}));
}

Orders Job::node_held(std::uint32_t node, const job::Held& held) {
  announce(held_nodes_.held(node, held));
  return done();
}

void Job::announce(const std::optional<job::Held>& held) {
  if (held && is_before_its_end()) orders_.emplace_back(AnnounceHeld{*held});
}

// ---- ends of ranks

/// Reports of other nodes overtake each other: ranks that leave because a rank is lost may be told of before
/// that rank is.
Orders Job::rank_ended(const job::RankEnd& end) {
  ranks_.set_ended(end.rank);
  has_connected_ |= end.connected;
  if (may_hold_ && end.after && ranks_.is_running(*end.after)) {
    if (held_.empty()) orders_.emplace_back(Hold{true});
    held_.push_back(end);
    return done();
  }
  judge(end);
  if (!held_.empty() && !ranks_.is_running(*held_.front().after)) judge_held();
  return done();
}

Orders Job::hold_over() {
  may_hold_ = false;  // the process of that rank lives on without its connection
  judge_held();
  return done();
}

void Job::judge_held() {
  if (held_.empty()) return;
  orders_.emplace_back(Hold{false});
  for (const auto& end : std::exchange(held_, {})) judge(end);
}

void Job::judge(const job::RankEnd& end) {
  const auto rank = end.rank;
  const int status = end.wait_status;
  if (ranks_.is_end_expected(rank)) return;
  const auto failed = [&](int exit_code, pmix_status_t how, const std::string& line) {
    const bool is_first = is_before_its_end();
    if (!ending_.failed && !end.connected) stranger_ = rank;
    note_failure(rank, exit_code, how);
    fail(Event::rank_failed, exit_code, fmt::format("rank {}", number(rank)), line,
         AboutRank{rank, end.written});
    if (is_first && end.connected) say_absentees();
  };
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    failed(exit_status::signal_base + signal, PMIX_ERR_JOB_ABORTED_BY_SIG,
           messages::rank_killed(where(rank), signal, WCOREDUMP(status), consequence()));
  } else if (WEXITSTATUS(status) != 0) {
    failed(WEXITSTATUS(status), PMIX_ERR_JOB_NON_ZERO_TERM,
           messages::rank_failed(where(rank), WEXITSTATUS(status), end.connected && !end.finalized,
                                 consequence()));
  } else if (end.connected && !end.finalized) {
    failed(1, PMIX_ERR_JOB_TERM_WO_SYNC, messages::rank_left_without_finalize(where(rank), consequence()));
  } else if (!end.connected) {
    absentees_.push_back(rank);
  }
}

/// A rank that was connected has failed: a call of it may have waited for these. Where none does they are no
/// news: programs without PMIx run beside others.
void Job::say_absentees() {
  if (absentees_.empty()) return;
  std::sort(absentees_.begin(), absentees_.end());
  say(Say::What::result, messages::ended_without_init(where(absentees_.front()), absentees_));
  absentees_.clear();
}

/// The first one counts; those that fail while the job is ended were told to.
void Job::note_failure(Rank rank, int exit_code, pmix_status_t how) {
  if (!ending_.failed && is_before_its_end()) ending_ = {how, rank, exit_code};
}

Orders Job::connected_late(Rank rank) {
  has_connected_ = true;
  if (!ranks_.is_end_expected(rank)) {
    note_failure(rank, 1, PMIX_ERR_JOB_TERM_WO_SYNC);
    fail(Event::rank_failed, 1, fmt::format("rank {}", number(rank)),
         messages::rank_left_without_finalize(where(rank), consequence()), AboutRank{rank});
  }
  return done();
}

Orders Job::aborted(const job::AbortRequest& request) {
  const int exit_code = exit_code_for(request.status);
  note_failure(request.from, exit_code, PMIX_ERR_JOB_ABORTED);
  if (!request.named.empty() && request.named.size() < table_.size()) {
    end_named(request);
    return done();
  }
  const bool is_first = is_before_its_end();
  step_by(Event::abort_called, exit_code,
          messages::rank_aborted(where(request.from), request.status, request.message, {}),
          AboutRank{request.from});
  if (is_first) say_absentees();
  return done();
}

/// PMIx_Abort for some ranks: the others go on, and the status is kept for the job's end.
void Job::end_named(const job::AbortRequest& request) {
  const int exit_code = exit_code_for(request.status);
  if (continues())
    outcome_.record_failure(exit_code, fmt::format("rank {}", number(request.from)));
  else
    outcome_.set_status(exit_code);
  say(Say::What::result,
      messages::rank_aborted(where(request.from), request.status, request.message, request.named));
  ranks_.expect_end(request.named);
  orders_.emplace_back(EndRanks{request.named});
}

}  // namespace weft::jobs
