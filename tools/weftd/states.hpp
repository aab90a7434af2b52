// SPDX-License-Identifier: BSD-3-Clause
// The life of a job at one node's daemon, as a table: state x event -> action, next state. Pure; tests walk
// every row.
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

}  // namespace weft::weftd
