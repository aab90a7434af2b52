// SPDX-License-Identifier: BSD-3-Clause
// The life of an invitation at the server of its leader, as a table: state x event -> action, next state.
// Pure; tests walk every row.
#pragma once

#include <cstdint>

namespace weft::server {

enum class InvitationState : std::uint8_t {
  gathering,  ///< processes answer, and the leader decides about those that do not come
  electing,   ///< the leader has failed; those that were invited are asked for another
  ended,
};
enum class InvitationEvent : std::uint8_t {
  accepted,     ///< a process comes
  missing,      ///< it declines, ends, or its patience does
  left_out,     ///< the leader goes on without such a process
  replaced,     ///< and invites others in its place
  undecided,    ///< no handler of the leader was there to decide
  aborted,      ///< by the leader, or by a vote
  late,         ///< the leader's deadline has passed
  leader_lost,  ///< the leader has ended
  elected,      ///< there is a new one
  unled,        ///< there is none
};
enum class InvitationAction : std::uint8_t {
  none,
  admit,       ///< the process is a member of what is made
  ask_leader,  ///< what is to become of the group without that process
  keep,        ///< the next leader is asked
  drop,        ///< the process is left out
  invite,      ///< others in its place
  settle,      ///< by PMIX_GROUP_OPTIONAL: the group goes on without, or ends
  elect,       ///< ask for a new leader
  follow,      ///< the new leader is told of what was kept
  end,         ///< without a group
};

struct InvitationStep {
  InvitationAction action;
  InvitationState next;
};

inline constexpr int invitation_events = 10;

constexpr InvitationStep invitation_step(InvitationState state, InvitationEvent event) noexcept {
  using S = InvitationState;
  using A = InvitationAction;
  if (state == S::ended) return {A::none, S::ended};
  constexpr InvitationStep table[invitation_events][2] = {
      // gathering, electing: what the lost leader had decided comes too late
      {{A::admit, S::gathering}, {A::admit, S::electing}},      // accepted
      {{A::ask_leader, S::gathering}, {A::keep, S::electing}},  // missing
      {{A::drop, S::gathering}, {A::keep, S::electing}},        // left_out
      {{A::invite, S::gathering}, {A::keep, S::electing}},      // replaced
      {{A::settle, S::gathering}, {A::keep, S::electing}},      // undecided
      {{A::end, S::ended}, {A::end, S::ended}},                 // aborted
      {{A::end, S::ended}, {A::end, S::ended}},                 // late
      {{A::elect, S::electing}, {A::none, S::electing}},        // leader_lost
      {{A::none, S::gathering}, {A::follow, S::gathering}},     // elected
      {{A::none, S::gathering}, {A::end, S::ended}},            // unled
  };
  return table[static_cast<int>(event)][static_cast<int>(state)];
}

}  // namespace weft::server
