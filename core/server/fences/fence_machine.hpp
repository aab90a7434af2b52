// SPDX-License-Identifier: BSD-3-Clause
// The life of one fence that needs the daemon, as a table: state x event -> action. Pure; tests walk every row.
#pragma once

#include <cstdint>

namespace weft::server {

enum class FenceState : std::uint8_t { gathering, exchanging, ended };
enum class FenceEvent : std::uint8_t {
  arrived,        ///< a local participant, others of this node are missing
  all_here,       ///< the last local participant, and all participants are local
  all_local,      ///< the last local participant; other nodes take part
  host_answered,  ///< the host's exchange ended
  lost,           ///< a participant is gone
  timed_out,      ///< the deadline of a participant passed
};
enum class FenceAction : std::uint8_t { none, succeed, exchange, deliver, fail_lost, fail_timeout };

struct FenceStep {
  FenceAction action;
  FenceState next;
};

constexpr FenceStep fence_step(FenceState state, FenceEvent event) noexcept {
  using S = FenceState;
  using A = FenceAction;
  constexpr FenceStep table[3][6] = {
      // arrived              all_here                all_local                  host_answered           lost                     timed_out
      {{A::none, S::gathering},
       {A::succeed, S::ended},
       {A::exchange, S::exchanging},
       {A::none, S::gathering},
       {A::fail_lost, S::ended},
       {A::fail_timeout, S::ended}},
      {{A::none, S::exchanging},
       {A::none, S::exchanging},
       {A::none, S::exchanging},
       {A::deliver, S::ended},
       {A::fail_lost, S::ended},
       {A::fail_timeout, S::ended}},
      // An ended fence hears of nothing any more: a late answer of the host is dropped.
      {{A::none, S::ended},
       {A::none, S::ended},
       {A::none, S::ended},
       {A::none, S::ended},
       {A::none, S::ended},
       {A::none, S::ended}},
  };
  return table[static_cast<int>(state)][static_cast<int>(event)];
}

}  // namespace weft::server
