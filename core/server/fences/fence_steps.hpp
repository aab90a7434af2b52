// SPDX-License-Identifier: BSD-3-Clause
// The life of a set's fences on one node, as a table: state x event -> action, next state. Pure; tests walk
// every row.
//
// A set whose members all live here needs none of it but `gathering`: the last arrival ends the generation by
// itself (store::Board).
#pragma once

#include <cstdint>

namespace weft::server {

enum class FenceState : std::uint8_t {
  gathering,          ///< local members arrive at the open generation
  exchanging,         ///< all have; the collective between the servers is under way
  by_host,            ///< the same, and the host does it: it cannot be stopped
  abandoned_by_host,  ///< the generation has failed here while the host has it, whose answer is awaited
};
enum class FenceEvent : std::uint8_t {
  full,         ///< all local members have arrived at the open generation, and other nodes take part
  succeeded,    ///< the exchange between the nodes
  failed,       ///< the same
  member_lost,  ///< a local member is dead or finalized
  late,         ///< the deadline of a member passed
  hopeless,     ///< another node takes part in a generation that this one never can
};
enum class FenceAction : std::uint8_t {
  none,
  exchange,    ///< begin the collective, or hand it to the host
  complete,    ///< the generation succeeds
  fail,        ///< it fails, as the exchange did everywhere
  refuse,      ///< it fails here, and the next collective of the set with it at all nodes
  give_up,     ///< the servers agree on its end: another node may have ended it well
  lose,        ///< the member breaks the board; generations that fail with it are refused
  lose_later,  ///< the member had arrived: the exchange decides about that generation; then as lose
  settle,      ///< the host has answered: what waited for that goes on
};

struct FenceStep {
  FenceAction action;
  FenceState next;
};

constexpr FenceStep fence_step(FenceState state, FenceEvent event) noexcept {
  using S = FenceState;
  using A = FenceAction;
  constexpr FenceStep table[4][6] = {
      // full, succeeded, failed, member_lost, late, hopeless
      {{A::exchange, S::exchanging},
       {A::none, S::gathering},
       {A::none, S::gathering},
       {A::lose, S::gathering},
       {A::refuse, S::gathering},
       {A::refuse, S::gathering}},
      {{A::none, S::exchanging},
       {A::complete, S::gathering},
       {A::fail, S::gathering},
       {A::lose_later, S::exchanging},
       {A::give_up, S::exchanging},
       {A::none, S::exchanging}},
      {{A::none, S::by_host},
       {A::complete, S::gathering},
       {A::fail, S::gathering},
       {A::lose, S::abandoned_by_host},
       {A::refuse, S::abandoned_by_host},
       {A::none, S::by_host}},
      // The members may have arrived at the next generation already: it is not begun before the host has
      // answered.
      {{A::none, S::abandoned_by_host},
       {A::settle, S::gathering},
       {A::settle, S::gathering},
       {A::lose, S::abandoned_by_host},
       {A::refuse, S::abandoned_by_host},
       {A::refuse, S::abandoned_by_host}},
  };
  return table[static_cast<int>(state)][static_cast<int>(event)];
}

constexpr bool is_exchanging(FenceState state) noexcept {
  return state == FenceState::exchanging || state == FenceState::by_host;
}

}  // namespace weft::server
