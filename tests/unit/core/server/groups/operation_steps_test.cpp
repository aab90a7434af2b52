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

using A = OperationAction;
using E = OperationEvent;
using S = OperationState;

constexpr S at(int state) {
  return static_cast<S>(state);
}

/// What a row may be reached by, from the first state on.
std::set<S> reached() {
  std::set<S> out{S::gathering};
  for (std::size_t before = 0; before != out.size();) {
    before = out.size();
    for (const auto& row : operation_rows)
      if (out.count(row.state) != 0) out.insert(row.next);
  }
  return out;
}

TEST(OperationSteps, each_row_is_found_and_stands_once) {
  std::set<std::pair<S, E>> seen;
  for (const auto& row : operation_rows) {
    EXPECT_TRUE(seen.insert({row.state, row.event}).second);
    const auto step = operation_step(row.state, row.event);
    EXPECT_EQ(step.action, row.action);
    EXPECT_EQ(step.next, row.next);
    EXPECT_NE(row.action, A::none) << "such a row says nothing";
  }
}

TEST(OperationSteps, what_has_no_row_changes_nothing) {
  int without = 0;
  for (int state = 0; state < operation_states; ++state)
    for (int event = 0; event < operation_events; ++event) {
      const auto e = static_cast<E>(event);
      if (std::any_of(std::begin(operation_rows), std::end(operation_rows),
                      [&](const auto& row) { return row.state == at(state) && row.event == e; }))
        continue;
      ++without;
      EXPECT_EQ(operation_step(at(state), e).action, A::none);
      EXPECT_EQ(operation_step(at(state), e).next, at(state));
    }
  EXPECT_EQ(without, operation_states * operation_events - static_cast<int>(std::size(operation_rows)));
}

TEST(OperationSteps, each_state_is_reached_and_each_open_one_ends) {
  EXPECT_EQ(reached().size(), static_cast<std::size_t>(operation_states));
  for (int state = 0; state < operation_states; ++state)
    if (at(state) != S::ended)
      EXPECT_TRUE(std::any_of(std::begin(operation_rows), std::end(operation_rows), [&](const auto& row) {
        return row.state == at(state) && row.next == S::ended;
      })) << state;
}

TEST(OperationSteps, participants_are_answered_when_it_ends_and_only_then) {
  for (const auto& row : operation_rows) {
    const bool answers = row.action == A::finish || row.action == A::answer || row.action == A::fail;
    EXPECT_EQ(answers, row.next == S::ended);
    EXPECT_NE(row.state, S::ended) << "what has ended stays so";
  }
}

/// The part of this node is with the others until the attempt has ended for all nodes.
TEST(OperationSteps, an_attempt_is_left_by_its_own_end_alone) {
  for (const auto event : {E::complete, E::given, E::hopeless, E::late, E::aborted, E::approved, E::replied})
    EXPECT_EQ(operation_step(S::with_nodes, event).next, S::with_nodes);
  EXPECT_EQ(operation_step(S::with_nodes, E::late).action, A::stop);
  EXPECT_EQ(operation_step(S::by_host, E::late).action, A::none);
}

TEST(OperationSteps, handlers_are_asked_once_for_each_lost_node) {
  EXPECT_EQ(operation_step(S::with_nodes, E::unsure).next, S::asking);
  EXPECT_EQ(operation_step(S::asking, E::approved).action, A::exchange);
  EXPECT_EQ(operation_step(S::asking, E::aborted).action, A::fail);
  EXPECT_EQ(operation_step(S::asking, E::late).action, A::fail);
}

}  // namespace
}  // namespace weft::server
