// SPDX-License-Identifier: BSD-3-Clause
// The table of a job's life at a daemon, row by row, and what holds for all of it.
#include "tools/weftd/states.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace weft::weftd {
namespace {

using S = JobState;
using E = JobEvent;
using A = JobAction;

/// What is done when these things happen to a job that the launcher has just spoken of, and where that leads.
std::pair<std::vector<A>, S> life(const std::vector<E>& events) {
  std::pair<std::vector<A>, S> out{{}, S::awaited};
  for (const auto event : events) {
    const auto [action, next] = job_step(out.second, event);
    if (action != A::none) out.first.push_back(action);
    out.second = next;
  }
  return out;
}
using Actions = std::vector<A>;

TEST(JobSteps, each_row_is_found_and_stands_once) {
  std::set<std::pair<S, E>> seen;
  for (const auto& row : job_rows) {
    EXPECT_TRUE(seen.insert({row.state, row.event}).second);
    EXPECT_EQ(job_step(row.state, row.event).action, row.action);
    EXPECT_EQ(job_step(row.state, row.event).next, row.next);
  }
}

TEST(JobSteps, what_has_no_row_changes_nothing) {
  int without = 0;
  for (int state = 0; state < job_states; ++state)
    for (int event = 0; event < job_events; ++event) {
      const auto s = static_cast<S>(state);
      const auto e = static_cast<E>(event);
      if (std::any_of(std::begin(job_rows), std::end(job_rows),
                      [&](const auto& row) { return row.state == s && row.event == e; }))
        continue;
      ++without;
      EXPECT_EQ(job_step(s, e).action, A::none);
      EXPECT_EQ(job_step(s, e).next, s);
    }
  EXPECT_EQ(without, job_states * job_events - static_cast<int>(std::size(job_rows)));
}

TEST(JobSteps, a_job_that_ends_by_itself) {
  const auto [actions, state] = life({E::launched, E::settled, E::ended, E::drained});
  EXPECT_EQ(actions, (Actions{A::start, A::tell, A::end_orphans, A::forget}));
  EXPECT_EQ(state, S::over);
}

TEST(JobSteps, a_job_that_is_ended_while_ranks_run) {
  const auto [actions, state] = life({E::launched, E::drained, E::ended, E::settled, E::drained});
  EXPECT_EQ(actions, (Actions{A::start, A::end_ranks, A::tell_and_end_orphans, A::forget}));
  EXPECT_EQ(state, S::over);
}

TEST(JobSteps, a_launch_message_that_comes_too_late_starts_nothing) {
  EXPECT_EQ(life({E::canceled, E::launched, E::canceled}).first, Actions{A::tell});
  EXPECT_EQ(life({E::canceled, E::launched, E::ended, E::drained}).second, S::over);
  EXPECT_EQ(life({E::ended, E::launched}), std::pair(Actions{A::forget}, S::over));
}

TEST(JobSteps, a_signal_to_a_job_that_runs_is_no_step) {
  EXPECT_EQ(life({E::launched, E::canceled}), std::pair(Actions{A::start}, S::running));
}

// ---- the daemon

std::pair<std::vector<DaemonAction>, DaemonState> daemon_life(const std::vector<DaemonEvent>& events) {
  std::pair<std::vector<DaemonAction>, DaemonState> out{{}, DaemonState::idle};
  for (const auto event : events) {
    const auto [action, next] = daemon_step(out.second, event);
    if (action != DaemonAction::none) out.first.push_back(action);
    out.second = next;
  }
  return out;
}
using DaemonActions = std::vector<DaemonAction>;

TEST(DaemonSteps, each_row_is_found_and_stands_once) {
  std::set<std::pair<DaemonState, DaemonEvent>> seen;
  for (const auto& row : daemon_rows) {
    EXPECT_TRUE(seen.insert({row.state, row.event}).second);
    EXPECT_EQ(daemon_step(row.state, row.event).action, row.action);
    EXPECT_EQ(daemon_step(row.state, row.event).next, row.next);
  }
  for (int state = 0; state < daemon_states; ++state)
    for (int event = 0; event < daemon_events; ++event) {
      const auto s = static_cast<DaemonState>(state);
      const auto e = static_cast<DaemonEvent>(event);
      if (seen.count({s, e}) != 0) continue;
      EXPECT_EQ(daemon_step(s, e).action, DaemonAction::none);
      EXPECT_EQ(daemon_step(s, e).next, s);
    }
}

TEST(DaemonSteps, a_launcher_that_ends_in_good_order) {
  using D = DaemonEvent;
  EXPECT_EQ(daemon_life({D::job_came, D::all_over, D::job_came, D::all_over, D::dismissed, D::all_over}),
            std::pair(DaemonActions{DaemonAction::end_jobs, DaemonAction::exit}, DaemonState::exiting));
  EXPECT_EQ(daemon_life({D::job_came, D::launcher_gone, D::all_over}),
            std::pair(DaemonActions{DaemonAction::end_jobs_soon, DaemonAction::exit}, DaemonState::exiting))
      << "its agent closes before the order comes";
}

TEST(DaemonSteps, a_launcher_that_is_lost) {
  using D = DaemonEvent;
  EXPECT_EQ(daemon_life({D::launcher_lost}).second, DaemonState::orphaned) << "before any job";
  EXPECT_EQ(
      daemon_life({D::job_came, D::launcher_lost, D::launcher_gone, D::patience_over}),
      std::pair(DaemonActions{DaemonAction::end_jobs_soon, DaemonAction::exit_now}, DaemonState::exiting));
}

TEST(DaemonSteps, no_job_begins_at_the_end) {
  for (int state = 0; state < daemon_states; ++state) {
    const auto s = static_cast<DaemonState>(state);
    EXPECT_EQ(takes_jobs(s), s == DaemonState::idle || s == DaemonState::serving);
  }
}

}  // namespace
}  // namespace weft::weftd
