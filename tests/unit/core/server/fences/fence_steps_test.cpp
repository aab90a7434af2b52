// SPDX-License-Identifier: BSD-3-Clause
// Every row of the fences' table, against what each state has to do with each event.
#include "core/server/fences/fence_steps.hpp"

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
    {S::gathering, E::full, A::exchange, S::exchanging},
    {S::gathering, E::succeeded, A::none, S::gathering},  // an end without a beginning
    {S::gathering, E::failed, A::none, S::gathering},
    {S::gathering, E::member_lost, A::lose, S::gathering},
    {S::gathering, E::late, A::refuse, S::gathering},
    {S::gathering, E::hopeless, A::refuse, S::gathering},
    {S::exchanging, E::full, A::none, S::exchanging},  // a second notice of the same generation
    {S::exchanging, E::succeeded, A::complete, S::gathering},
    {S::exchanging, E::failed, A::fail, S::gathering},
    {S::exchanging, E::member_lost, A::lose_later, S::exchanging},  // it had arrived: the exchange decides
    {S::exchanging, E::late, A::give_up, S::exchanging},            // another node may have ended it well
    {S::exchanging, E::hopeless, A::none, S::exchanging},           // our part is complete
    {S::by_host, E::full, A::none, S::by_host},
    {S::by_host, E::succeeded, A::complete, S::gathering},
    {S::by_host, E::failed, A::fail, S::gathering},
    {S::by_host, E::member_lost, A::lose, S::abandoned_by_host},
    {S::by_host, E::late, A::refuse, S::abandoned_by_host},
    {S::by_host, E::hopeless, A::none, S::by_host},
    {S::abandoned_by_host, E::full, A::none, S::abandoned_by_host},
    {S::abandoned_by_host, E::succeeded, A::settle, S::gathering},  // the host's late answer ends nothing
    {S::abandoned_by_host, E::failed, A::settle, S::gathering},
    {S::abandoned_by_host, E::member_lost, A::lose, S::abandoned_by_host},
    {S::abandoned_by_host, E::late, A::refuse, S::abandoned_by_host},
    {S::abandoned_by_host, E::hopeless, A::refuse, S::abandoned_by_host},
};

TEST(FenceSteps, every_row) {
  ASSERT_EQ(std::size(rows), 4u * 6u);
  for (const auto& row : rows) {
    const auto step = fence_step(row.state, row.event);
    EXPECT_EQ(step.action, row.action) << static_cast<int>(row.state) << " x " << static_cast<int>(row.event);
    EXPECT_EQ(step.next, row.next) << static_cast<int>(row.state) << " x " << static_cast<int>(row.event);
  }
}

/// Whatever happens in whatever order: a collective begins only when the one before it is over, and the end
/// of a collective is given to the generation that it belongs to, or to none.
TEST(FenceSteps, collectives_never_overlap_in_any_order) {
  constexpr unsigned events = 6, length = 6;
  unsigned orders = 1;
  for (unsigned i = 0; i < length; ++i) orders *= events;
  for (unsigned order = 0; order < orders; ++order) {
    auto state = S::gathering;
    unsigned under_way = 0, rest = order;
    for (unsigned i = 0; i < length; ++i, rest /= events) {
      const auto event = static_cast<E>(rest % events);
      if ((event == E::succeeded || event == E::failed) && under_way == 0) continue;  // no collective to end
      const auto step = fence_step(state, event);
      if (step.action == A::exchange) {
        ASSERT_EQ(under_way, 0u) << "order " << order;
        ++under_way;
      }
      if (event == E::succeeded || event == E::failed) {
        ASSERT_TRUE(step.action == A::complete || step.action == A::fail || step.action == A::settle);
        ASSERT_EQ(step.next, S::gathering);
        --under_way;
      }
      state = step.next;
      ASSERT_EQ(under_way != 0, state != S::gathering) << "order " << order;
    }
  }
}

}  // namespace
}  // namespace weft::server
