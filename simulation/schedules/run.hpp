// SPDX-License-Identifier: BSD-3-Clause
// Runs a collective of any number of members in virtual time, without bytes: an event is a message that has
// come, or a member that begins. A member sends a step's messages when it comes to the step, and goes on when
// what the step receives is there, as collectives/engine does; messages that come early are kept.
//
// Cost: some 200 ns a message, and 16 bytes a step of each member.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "simulation/schedules/processors.hpp"
#include "simulation/schedules/table.hpp"
#include "transport/sim/wires.hpp"
#include "weft/result.hpp"

namespace weft::simulation {

struct Costs {
  sim::LogGP message{};
  bool serial_nics = true;
  std::size_t max_message = std::size_t{64} << 10;  ///< of the fabric: longer ones go in pieces
  ServerCost server{};
};

/// A message that a member waited for: from when the sender came to its step until the receiver was done with
/// its own.
struct Hop {
  Member from = 0, to = 0;
  sim::Time begun = 0, ended = 0;
  std::uint64_t bytes = 0;
};

struct CollectiveRun {
  std::vector<std::optional<sim::Time>> ended;      ///< of each member; nothing: it waits for a lost one
  sim::Time last = 0;                               ///< of those that have ended
  std::uint64_t messages = 0, bytes = 0;            ///< of all members, envelopes included
  std::uint64_t most_messages = 0, most_bytes = 0;  ///< that one member has sent
  std::uint64_t largest_message = 0;                ///< bytes
  sim::Time begun = 0;                              ///< when the first member on the path began
  std::vector<Hop> path;                            ///< to the member that ended last, in the order of time

  /// Of the path; null: it has none.
  const Hop* slowest_hop() const noexcept;
};

struct Late {
  std::vector<sim::Time> begins{};  ///< of each member; empty: all at 0
};
struct LostMember {
  Member member = 0;
  sim::Time at = 0;  ///< from then on it neither sends nor receives
};

/// Errors: as StepTable::of().
Result<CollectiveRun> run_collective(std::uint32_t members, const std::vector<Phase>& phases,
                                     const Costs& costs, const Late& late = {},
                                     const std::optional<LostMember>& lost = {});

}  // namespace weft::simulation
