// SPDX-License-Identifier: BSD-3-Clause
// The table of an operation's life, row by row, and what holds for all of it.
#include "core/server/groups/open/operation_steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace weft::server {
namespace {

constexpr OperationState at(int state) {
  return static_cast<OperationState>(state);
}

/// The states that an operation may come to from that one.
std::set<OperationState> reached_from(OperationState state) {
  std::set<OperationState> out{state};
  for (std::size_t before = 0; before != out.size();) {
    before = out.size();
    for (const auto& row : operation_rows)
      if (out.count(row.state) != 0) out.insert(row.next);
  }
  return out;
}

TEST(OperationSteps, each_row_is_found_and_stands_once) {
  std::set<std::pair<OperationState, OperationEvent>> seen;
  for (const auto& row : operation_rows) {
    EXPECT_TRUE(seen.insert({row.state, row.event}).second);
    const auto step = operation_step(row.state, row.event);
    EXPECT_EQ(step.action, row.action);
    EXPECT_EQ(step.next, row.next);
    EXPECT_TRUE(row.action != OperationAction::none || row.next != row.state) << "such a row says nothing";
  }
}

TEST(OperationSteps, what_has_no_row_changes_nothing) {
  int without = 0;
  for (int state = 0; state < operation_states; ++state)
    for (int event = 0; event < operation_events; ++event) {
      const auto e = static_cast<OperationEvent>(event);
      if (std::any_of(std::begin(operation_rows), std::end(operation_rows),
                      [&](const auto& row) { return row.state == at(state) && row.event == e; }))
        continue;
      ++without;
      EXPECT_EQ(operation_step(at(state), e).action, OperationAction::none);
      EXPECT_EQ(operation_step(at(state), e).next, at(state));
    }
  EXPECT_EQ(without, operation_states * operation_events - static_cast<int>(std::size(operation_rows)));
}

TEST(OperationSteps, each_state_is_reached_and_each_may_end) {
  EXPECT_EQ(reached_from(OperationState::gathering).size(), static_cast<std::size_t>(operation_states));
  for (int state = 0; state < operation_states; ++state)
    EXPECT_EQ(reached_from(at(state)).count(OperationState::ended), 1u) << state;
}

TEST(OperationSteps, participants_are_answered_when_it_ends_and_only_then) {
  for (const auto& row : operation_rows) {
    const bool answers = row.action == OperationAction::finish || row.action == OperationAction::answer;
    const bool drops = row.action == OperationAction::drop;  // none has called
    EXPECT_EQ(answers || drops, row.next == OperationState::ended);
    EXPECT_NE(row.state, OperationState::ended) << "what has ended stays so";
  }
}

/// The part of this node is with the others until the attempt has ended for all nodes.
TEST(OperationSteps, an_attempt_is_left_by_its_own_end_alone) {
  for (const auto event :
       {OperationEvent::complete, OperationEvent::given, OperationEvent::hopeless, OperationEvent::late,
        OperationEvent::aborted, OperationEvent::approved, OperationEvent::replied})
    EXPECT_EQ(operation_step(OperationState::with_nodes, event).next, OperationState::with_nodes);
  EXPECT_EQ(operation_step(OperationState::with_nodes, OperationEvent::late).action,
            OperationAction::give_up);
  EXPECT_EQ(operation_step(OperationState::by_host, OperationEvent::late).action, OperationAction::none);
}

/// Another node may have ended the attempt before: its end holds here, too.
TEST(OperationSteps, what_fails_here_waits_for_the_end_that_it_has_at_all_nodes) {
  for (const auto event : {OperationEvent::hopeless, OperationEvent::late, OperationEvent::aborted})
    EXPECT_EQ(operation_step(OperationState::gathering, event).next, OperationState::refusing);
  for (int number = 0; number < operation_events; ++number) {
    const auto event = static_cast<OperationEvent>(number);
    const auto action = event == OperationEvent::failed ? OperationAction::answer
                        : event == OperationEvent::owed ? OperationAction::refuse
                                                        : OperationAction::none;
    EXPECT_EQ(operation_step(OperationState::refusing, event).action, action) << number;
  }
}

TEST(OperationSteps, handlers_are_asked_once_for_each_lost_node) {
  EXPECT_EQ(operation_step(OperationState::with_nodes, OperationEvent::unsure).next, OperationState::asking);
  EXPECT_EQ(operation_step(OperationState::asking, OperationEvent::approved).action,
            OperationAction::exchange);
  EXPECT_EQ(operation_step(OperationState::asking, OperationEvent::aborted).action, OperationAction::refuse);
  EXPECT_EQ(operation_step(OperationState::asking, OperationEvent::late).action, OperationAction::refuse);
}

}  // namespace
}  // namespace weft::server
