// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/invitation/invitation.hpp"

#include <gtest/gtest.h>

#include "core/link/messages.hpp"

namespace weft::server {
namespace {

/// Every row of the table, written out a second time: what happens at what, and where it leads.
TEST(InvitationSteps, each_row) {
  using S = InvitationState;
  using E = InvitationEvent;
  using A = InvitationAction;
  struct Row {
    S state;
    E event;
    A action;
    S next;
  };
  const Row rows[] = {
      {S::gathering, E::accepted, A::admit, S::gathering},
      {S::gathering, E::missing, A::ask_leader, S::gathering},
      {S::gathering, E::left_out, A::drop, S::gathering},
      {S::gathering, E::replaced, A::invite, S::gathering},
      {S::gathering, E::undecided, A::settle, S::gathering},
      {S::gathering, E::aborted, A::end, S::ended},
      {S::gathering, E::late, A::end, S::ended},
      {S::gathering, E::leader_lost, A::elect, S::electing},
      {S::gathering, E::elected, A::none, S::gathering},
      {S::gathering, E::unled, A::none, S::gathering},
      {S::electing, E::accepted, A::admit, S::electing},
      {S::electing, E::missing, A::keep, S::electing},
      {S::electing, E::left_out, A::keep, S::electing},
      {S::electing, E::replaced, A::keep, S::electing},
      {S::electing, E::undecided, A::keep, S::electing},
      {S::electing, E::aborted, A::end, S::ended},
      {S::electing, E::late, A::end, S::ended},
      {S::electing, E::leader_lost, A::none, S::electing},
      {S::electing, E::elected, A::follow, S::gathering},
      {S::electing, E::unled, A::end, S::ended},
  };
  for (const auto& row : rows) {
    const auto step = invitation_step(row.state, row.event);
    EXPECT_EQ(step.action, row.action) << static_cast<int>(row.state) << ' ' << static_cast<int>(row.event);
    EXPECT_EQ(step.next, row.next) << static_cast<int>(row.state) << ' ' << static_cast<int>(row.event);
  }
  for (int event = 0; event < invitation_events; ++event) {
    const auto step = invitation_step(S::ended, static_cast<E>(event));
    EXPECT_EQ(step.action, A::none);
    EXPECT_EQ(step.next, S::ended);
  }
}

using State = Invitee::State;

Invitation of(std::initializer_list<State> states) {
  Invitation out;
  std::uint32_t rank = 0;
  for (const auto state : states) out.invitees.push_back({link::make_proc("job", rank++), state});
  out.leader = link::make_proc("job", 0);
  return out;
}

TEST(Invitation, is_complete_when_nothing_is_open) {
  EXPECT_TRUE(of({State::coming}).is_complete());
  EXPECT_TRUE(of({State::coming, State::out, State::coming}).is_complete());
  EXPECT_FALSE(of({State::coming, State::asked}).is_complete());
  EXPECT_FALSE(of({State::coming, State::missing}).is_complete());
}

TEST(Invitation, participants_may_still_be_members) {
  const auto invitation = of({State::coming, State::asked, State::missing, State::out, State::coming});
  EXPECT_TRUE(
      is_same(invitation.participants(), Procs{link::make_proc("job", 1), link::make_proc("job", 4)}));
  EXPECT_EQ(invitation.members(), (link::RankRuns{{"job", 0, 2}, {"job", 4, 4}}));
}

TEST(Invitation, a_replacement_takes_the_place) {
  auto invitation = of({State::coming, State::out, State::coming});
  EXPECT_TRUE(invitation.add(link::make_proc("job", 7), &invitation.invitees[1]));
  EXPECT_EQ(invitation.members(), (link::RankRuns{{"job", 0, 0}, {"job", 7, 7}, {"job", 2, 2}}));
  EXPECT_TRUE(invitation.add(link::make_proc("job", 8), nullptr));
  EXPECT_EQ(invitation.members(),
            (link::RankRuns{{"job", 0, 0}, {"job", 7, 7}, {"job", 2, 2}, {"job", 8, 8}}));
  EXPECT_FALSE(invitation.add(link::make_proc("job", 2), nullptr));  // it comes already
  invitation.invitees[2].state = State::out;
  EXPECT_TRUE(invitation.add(link::make_proc("job", 2), nullptr));  // asked once more
  EXPECT_EQ(invitation.invitees[2].state, State::asked);
}

}  // namespace
}  // namespace weft::server
