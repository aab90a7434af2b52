// SPDX-License-Identifier: BSD-3-Clause
// An operation at which its participants meet: what it is, and which of this node's have come.
#pragma once

#include <string>
#include <vector>

#include "collectives/message.hpp"
#include "core/data/names/deadline.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/fences/fence_part.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/server/jobs/proc_set.hpp"

namespace weft::server {

/// A participant of this node that has called, with its own arguments.
struct Arrival {
  Requester from;
  Procs procs;  ///< in the caller's order; of a destruct: none
  data::Infos directives;
  std::chrono::milliseconds waited{0};  ///< at a board, before it became a message
};

struct Meeting {
  enum class Kind : std::uint8_t { connect, disconnect, construct, destruct, fence };

  Kind kind = Kind::connect;
  std::string group{};  ///< empty: of no group
  Procs set{};          ///< canonical
  std::vector<Arrival> arrived{};
  Procs lost{};  ///< participants of this node that will not come, where it goes on without them
  bool goes_on_smaller = false;  ///< a lost participant is left out; else it ends the meeting for all
  data::Deadline deadline{};     ///< the earliest that an arrival has brought
  std::uint64_t at_board = 0;    ///< arrivals have sent no message: its number in BoardMeetings

  /// Null: it has not called.
  const Arrival* find(const pmix_proc_t& proc) const noexcept;
};

inline bool is_of_group(const Meeting& meeting) noexcept {
  return !meeting.group.empty();
}

/// The same to all that have called.
void answer(const Meeting& meeting, const link::Answer& answer);

/// A member that wants its handlers to decide what becomes of the construct when another one is lost.
bool asks_handlers(const Arrival& arrival);
/// What this node asks for where a node is lost. The same kinds of operations ask on all nodes, with their
/// own members' directives.
collectives::AfterLoss after_loss_of(const Meeting& meeting);

OperationName operation_of(const Meeting& meeting);
/// The kind and the group of a meeting that is called so. False: participants do not meet for that.
bool read_operation(const OperationName& operation, Meeting& out);

/// It is among the arrivals.
bool has_arrived(const Meeting& meeting, const Job& job, std::uint32_t local) noexcept;

/// Which participants of this node are missing. generation: 0 where the nodes do not count.
FencePart part_of(const Jobs& jobs, const Meeting& meeting, std::uint64_t generation);

}  // namespace weft::server
