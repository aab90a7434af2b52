// SPDX-License-Identifier: BSD-3-Clause
// The job's table of state x event, row by row, against what weftrun(1) promises, and walks through whole
// lives.
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tools/jobs/states.hpp"

namespace weft::jobs {
namespace {

constexpr std::initializer_list<State> all_states = {State::starting, State::running,  State::stopping,
                                                     State::killing,  State::draining, State::done};
constexpr std::initializer_list<Event> all_events = {
    Event::started,    Event::start_failed, Event::rank_failed, Event::abort_called,
    Event::time_up,    Event::end_signal,   Event::node_lost,   Event::output_lost,
    Event::grace_over, Event::all_gone,     Event::output_done};

struct Row {
  State state;
  Event event;
  State next;
  Action action;
  bool is_reason;
};

/// Every pair that does something; all others must change nothing.
const std::vector<Row> rows = {
    {State::starting, Event::started, State::running, Action::nothing, false},
    {State::starting, Event::start_failed, State::killing, Action::kill_ranks, true},
    {State::starting, Event::rank_failed, State::stopping, Action::stop_ranks, true},
    {State::starting, Event::abort_called, State::stopping, Action::stop_ranks, true},
    {State::starting, Event::time_up, State::stopping, Action::stop_ranks, true},
    {State::starting, Event::end_signal, State::stopping, Action::stop_ranks, true},
    {State::starting, Event::node_lost, State::stopping, Action::stop_ranks, true},
    {State::starting, Event::output_lost, State::stopping, Action::stop_ranks, true},
    {State::starting, Event::all_gone, State::draining, Action::drain, false},
    {State::running, Event::rank_failed, State::stopping, Action::stop_ranks, true},
    {State::running, Event::abort_called, State::stopping, Action::stop_ranks, true},
    {State::running, Event::time_up, State::stopping, Action::stop_ranks, true},
    {State::running, Event::end_signal, State::stopping, Action::stop_ranks, true},
    {State::running, Event::node_lost, State::stopping, Action::stop_ranks, true},
    {State::running, Event::output_lost, State::stopping, Action::stop_ranks, true},
    {State::running, Event::all_gone, State::draining, Action::drain, false},
    {State::stopping, Event::start_failed, State::killing, Action::kill_ranks, false},
    {State::stopping, Event::end_signal, State::killing, Action::kill_ranks, false},
    {State::stopping, Event::grace_over, State::killing, Action::kill_ranks, false},
    {State::stopping, Event::all_gone, State::draining, Action::drain, false},
    {State::killing, Event::end_signal, State::done, Action::abandon, false},
    {State::killing, Event::grace_over, State::done, Action::abandon, false},
    {State::killing, Event::all_gone, State::draining, Action::drain, false},
    {State::draining, Event::time_up, State::done, Action::finish_undrained, true},
    {State::draining, Event::end_signal, State::done, Action::finish_undrained, true},
    {State::draining, Event::node_lost, State::draining, Action::nothing, true},
    {State::draining, Event::output_lost, State::draining, Action::nothing, true},
    {State::draining, Event::grace_over, State::done, Action::finish_undrained, false},
    {State::draining, Event::output_done, State::done, Action::finish, false},
};

Row expected(State state, Event event) {
  for (const Row& row : rows) {
    if (row.state == state && row.event == event) return row;
  }
  return {state, event, state, Action::nothing, false};
}

TEST(JobStates, every_pair_does_what_is_promised) {
  for (const State state : all_states) {
    for (const Event event : all_events) {
      const std::string where = std::string(name_of(state)) + " x " + name_of(event);
      const Row row = expected(state, event);
      const Step& now = step(state, event);
      EXPECT_EQ(name_of(now.next), name_of(row.next)) << where;
      EXPECT_EQ(static_cast<int>(now.action), static_cast<int>(row.action)) << where;
      EXPECT_EQ(now.is_reason, row.is_reason) << where;
    }
  }
}

TEST(JobStates, every_state_is_reached_and_every_life_can_end) {
  std::set<State> reached = {State::starting};
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const State state : std::set<State>(reached)) {
      for (const Event event : all_events) reached.insert(step(state, event).next);
    }
  }
  EXPECT_EQ(reached.size(), state_count);
  // When all ranks are gone and all is written, the job is over, wherever it was.
  for (const State state : all_states) {
    const State drained = step(step(state, Event::all_gone).next, Event::output_done).next;
    EXPECT_EQ(name_of(drained), name_of(State::done)) << name_of(state);
  }
}

TEST(JobStates, only_the_first_reason_counts_while_ranks_end) {
  for (const State state : {State::stopping, State::killing}) {
    for (const Event event : all_events) EXPECT_FALSE(step(state, event).is_reason) << name_of(event);
  }
}

// Ranks that do not end, whatever they are sent: signals and times of grace alone lead out of every state.
TEST(JobStates, no_state_needs_a_rank_to_end) {
  for (const State from :
       {State::starting, State::running, State::stopping, State::killing, State::draining}) {
    State state = step(from, Event::end_signal).next;
    for (int times = 0; times < 2; ++times) state = step(state, Event::grace_over).next;
    EXPECT_EQ(name_of(state), name_of(State::done)) << name_of(from);
    state = from;
    for (int signals = 0; signals < 3; ++signals) state = step(state, Event::end_signal).next;
    EXPECT_EQ(name_of(state), name_of(State::done)) << name_of(from);
  }
}

TEST(JobStates, nothing_leaves_done) {
  for (const Event event : all_events) {
    EXPECT_EQ(step(State::done, event).next, State::done);
    EXPECT_EQ(step(State::done, event).action, Action::nothing);
  }
}

}  // namespace
}  // namespace weft::jobs
