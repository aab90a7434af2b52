// SPDX-License-Identifier: BSD-3-Clause
// The lives of a daemon and of a job that it has, as tables: state x event -> action, next state. Pure; tests
// walk every row.
#pragma once

#include <cstdint>

namespace weft::weftd {

enum class JobState : std::uint8_t {
  awaited,   ///< the launcher has spoken of it, and its launch message is on the way down the tree
  running,   ///< its ranks have been started, as far as they can be
  settled,   ///< none runs
  ending,    ///< the job is to end, and ranks run
  draining,  ///< the job is to end, and none runs; the rest of the output is on its way
  over,
};
inline constexpr int job_states = 6;

enum class JobEvent : std::uint8_t {
  launched,  ///< the launch message
  canceled,  ///< SIGTERM or SIGKILL to all of its ranks
  settled,   ///< no rank runs
  ended,     ///< the order to end it, or the end of the daemon
  drained,   ///< all output is written, or the launcher cannot be reached
};
inline constexpr int job_events = 5;

enum class JobAction : std::uint8_t {
  none,
  start,        ///< its ranks
  tell,         ///< the launcher, that no rank runs
  end_ranks,    ///< by SIGKILL
  end_orphans,  ///< what ranks have left behind: it may hold the output pipes open
  tell_and_end_orphans,
  forget,  ///< the job
};

struct JobRow {
  JobState state;
  JobEvent event;
  JobAction action;
  JobState next;
};
inline constexpr JobRow job_rows[] = {
    {JobState::awaited, JobEvent::launched, JobAction::start, JobState::running},
    {JobState::awaited, JobEvent::canceled, JobAction::tell, JobState::settled},
    {JobState::awaited, JobEvent::ended, JobAction::forget, JobState::over},

    {JobState::running, JobEvent::settled, JobAction::tell, JobState::settled},
    {JobState::running, JobEvent::ended, JobAction::end_ranks, JobState::ending},

    {JobState::settled, JobEvent::ended, JobAction::end_orphans, JobState::draining},

    {JobState::ending, JobEvent::settled, JobAction::tell_and_end_orphans, JobState::draining},

    {JobState::draining, JobEvent::drained, JobAction::forget, JobState::over},
};

struct JobStep {
  JobAction action;
  JobState next;
};
/// What has no row changes nothing.
constexpr JobStep job_step(JobState state, JobEvent event) noexcept {
  for (const auto& row : job_rows)
    if (row.state == state && row.event == event) return {row.action, row.next};
  return {JobAction::none, state};
}

/// Some rank of it may run.
constexpr bool has_ranks(JobState state) noexcept {
  return state == JobState::running || state == JobState::ending;
}

// ---- the daemon

enum class DaemonState : std::uint8_t {
  idle,      ///< no job has been here
  serving,   ///< jobs come and go
  leaving,   ///< the launcher has ordered so, or has ended after the jobs: no job begins, and those here end
  orphaned,  ///< the launcher is lost: the same, within a time of patience
  exiting,
};
inline constexpr int daemon_states = 5;

enum class DaemonEvent : std::uint8_t {
  job_came,
  dismissed,      ///< the order to leave
  launcher_gone,  ///< the launcher is lost, or its agent, and no rank runs
  launcher_lost,  ///< the same, and ranks run, or have never been heard of
  all_over,       ///< there is no job any more
  patience_over,
};
inline constexpr int daemon_events = 6;

enum class DaemonAction : std::uint8_t {
  none,
  end_jobs,       ///< and exit when they are over
  end_jobs_soon,  ///< the same, within a time of patience
  exit,           ///< with the daemons that this one has started
  exit_now,
};

struct DaemonRow {
  DaemonState state;
  DaemonEvent event;
  DaemonAction action;
  DaemonState next;
};
inline constexpr DaemonRow daemon_rows[] = {
    {DaemonState::idle, DaemonEvent::job_came, DaemonAction::none, DaemonState::serving},
    {DaemonState::idle, DaemonEvent::dismissed, DaemonAction::end_jobs, DaemonState::leaving},
    {DaemonState::idle, DaemonEvent::launcher_lost, DaemonAction::end_jobs_soon, DaemonState::orphaned},

    {DaemonState::serving, DaemonEvent::dismissed, DaemonAction::end_jobs, DaemonState::leaving},
    {DaemonState::serving, DaemonEvent::launcher_gone, DaemonAction::end_jobs_soon, DaemonState::leaving},
    {DaemonState::serving, DaemonEvent::launcher_lost, DaemonAction::end_jobs_soon, DaemonState::orphaned},

    {DaemonState::leaving, DaemonEvent::launcher_gone, DaemonAction::end_jobs_soon, DaemonState::leaving},
    {DaemonState::leaving, DaemonEvent::launcher_lost, DaemonAction::end_jobs_soon, DaemonState::orphaned},
    {DaemonState::leaving, DaemonEvent::all_over, DaemonAction::exit, DaemonState::exiting},
    {DaemonState::leaving, DaemonEvent::patience_over, DaemonAction::exit_now, DaemonState::exiting},

    {DaemonState::orphaned, DaemonEvent::all_over, DaemonAction::exit, DaemonState::exiting},
    {DaemonState::orphaned, DaemonEvent::patience_over, DaemonAction::exit_now, DaemonState::exiting},

    {DaemonState::exiting, DaemonEvent::patience_over, DaemonAction::exit_now, DaemonState::exiting},
};

struct DaemonStep {
  DaemonAction action;
  DaemonState next;
};
constexpr DaemonStep daemon_step(DaemonState state, DaemonEvent event) noexcept {
  for (const auto& row : daemon_rows)
    if (row.state == state && row.event == event) return {row.action, row.next};
  return {DaemonAction::none, state};
}

/// A job can begin.
constexpr bool takes_jobs(DaemonState state) noexcept {
  return state == DaemonState::idle || state == DaemonState::serving;
}

}  // namespace weft::weftd
