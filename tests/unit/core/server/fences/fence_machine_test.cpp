// SPDX-License-Identifier: BSD-3-Clause
// Every row of the fence's table, against what each state has to do with each event.
#include "core/server/fences/fence_machine.hpp"

#include <gtest/gtest.h>

namespace weft::server {
namespace {

using S = FenceState;
using E = FenceEvent;
using A = FenceAction;

struct Row {
  S state;
  E event;
  A action;
  S next;
};

constexpr Row rows[] = {
    {S::gathering, E::arrived, A::none, S::gathering},
    {S::gathering, E::all_here, A::succeed, S::ended},
    {S::gathering, E::all_local, A::exchange, S::exchanging},
    {S::gathering, E::host_answered, A::none, S::gathering},  // an answer that nobody asked for
    {S::gathering, E::lost, A::fail_lost, S::ended},
    {S::gathering, E::timed_out, A::fail_timeout, S::ended},
    {S::exchanging, E::arrived, A::none, S::exchanging},
    {S::exchanging, E::all_here, A::none, S::exchanging},
    {S::exchanging, E::all_local, A::none, S::exchanging},  // the host is asked once
    {S::exchanging, E::host_answered, A::deliver, S::ended},
    {S::exchanging, E::lost, A::fail_lost, S::ended},
    {S::exchanging, E::timed_out, A::fail_timeout, S::ended},
    {S::ended, E::arrived, A::none, S::ended},
    {S::ended, E::all_here, A::none, S::ended},
    {S::ended, E::all_local, A::none, S::ended},
    {S::ended, E::host_answered, A::none, S::ended},  // too late
    {S::ended, E::lost, A::none, S::ended},
    {S::ended, E::timed_out, A::none, S::ended},
};

TEST(FenceMachine, every_row) {
  EXPECT_EQ(std::size(rows), 3u * 6u);
  for (const auto& row : rows) {
    const auto step = fence_step(row.state, row.event);
    EXPECT_EQ(step.action, row.action) << static_cast<int>(row.state) << " x " << static_cast<int>(row.event);
    EXPECT_EQ(step.next, row.next) << static_cast<int>(row.state) << " x " << static_cast<int>(row.event);
  }
}

/// Whatever happens in whatever order, a fence ends at most once, and asks its host at most once.
TEST(FenceMachine, ends_once_in_every_order) {
  constexpr unsigned events = 6, length = 6;
  unsigned orders = 1;
  for (unsigned i = 0; i < length; ++i) orders *= events;
  for (unsigned order = 0; order < orders; ++order) {
    auto state = S::gathering;
    unsigned ends = 0, exchanges = 0, rest = order;
    for (unsigned i = 0; i < length; ++i, rest /= events) {
      const auto step = fence_step(state, static_cast<E>(rest % events));
      ends += step.action != A::none && step.action != A::exchange ? 1 : 0;
      exchanges += step.action == A::exchange ? 1 : 0;
      ASSERT_EQ(step.next == S::ended, ends == 1) << "order " << order;
      state = step.next;
    }
    ASSERT_LE(ends, 1u);
    ASSERT_LE(exchanges, 1u);
  }
}

}  // namespace
}  // namespace weft::server
