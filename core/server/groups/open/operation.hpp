// SPDX-License-Identifier: BSD-3-Clause
// An operation at which its participants meet: a connect, a disconnect, or the construct, the destruct or a
// fence of a group. What it is, which participants of this node have come, and how far it is. It is one
// object from the first call to the last answer.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "collectives/message.hpp"
#include "core/data/names/deadline.hpp"
#include "core/server/connections/requester.hpp"
#include "core/server/fences/exchange/exchange.hpp"
#include "core/server/fences/fence_part.hpp"
#include "core/server/groups/open/operation_steps.hpp"
#include "core/server/groups/table/group_boards.hpp"
#include "core/server/groups/table/group_part.hpp"
#include "core/server/jobs/jobs.hpp"
#include "core/server/jobs/proc_set.hpp"

namespace weft::server {

/// A participant of this node that has called, with its own arguments.
struct Arrival {
  Requester from;  ///< of tag 0: it is at the board, and its message has not come
  Procs procs{};   ///< in the caller's order; of a destruct: none
  data::Infos directives{};
  std::chrono::milliseconds waited{0};  ///< at a board, before it became a message
};

struct Operation {
  using Kind = OperationName::Kind;

  OperationName name;
  Procs set{};  ///< canonical
  std::vector<Arrival> arrived{};
  Procs lost{};  ///< participants of this node that will not come, where it goes on without them
  bool goes_on_smaller = false;  ///< a lost participant is left out; else it ends the operation for all
  Procs
      owed{};  ///< participants of this node that have not called when it fails: their calls are of this one

  OperationState state = OperationState::gathering;
  std::uint64_t number = 0;  ///< in the order of the first calls
  Loop::TimePoint since{};   ///< the first call; then, that it is with the other nodes
  bool is_reported = false;
  data::Deadline deadline{};  ///< the earliest that an arrival has brought
  std::unique_ptr<Timer> timer{};

  // While it gathers, of a construct: handlers are asked what becomes of it.
  Procs undecided{};  ///< members that are lost, about which they are asked
  Procs leaders{};    ///< that were elected

  /// Its arrivals have come to this board, without a message.
  struct AtBoard {
    BoardTicket ticket;
    Blob plain;  ///< the answer that the members take it for if the board says that it has ended well
  };
  std::optional<AtBoard> at_board{};

  // While it is with the other nodes:
  std::optional<Participants> participants{};  ///< of the attempt that is under way, or is next
  GroupPart own{};
  std::optional<Exchanges::Key> key{};  ///< of the last attempt
  std::optional<FenceName> begun_as{};  ///< the last attempt among all of the set
  bool was_over = false;                ///< another node had ended this generation before it began here
  std::set<NodeNumber> lost_nodes{};    ///< that it goes on without
  NodeNumber last_lost = 0;             ///< of these
  Procs absent{};                       ///< members that were there
  bool is_unknown = false;  ///< a node of its members takes no part, ever: no attempt follows one that fails
  bool is_owed = false;     ///< it has failed, and the nodes of its members have that end, or are owed it

  bool is_of_group() const noexcept { return !name.group.empty(); }
  bool is(Kind kind) const noexcept { return name.kind == kind; }
  bool is_constructed() const noexcept { return is(Kind::construct); }
  /// Null: it has not called.
  const Arrival* find(const pmix_proc_t& proc) const noexcept;
  void take_out(const pmix_proc_t& proc);
};
using OperationRef = std::shared_ptr<Operation>;

/// Participants meet for operations of this kind.
constexpr bool is_met_for(OperationName::Kind kind) noexcept {
  using Kind = OperationName::Kind;
  return kind >= Kind::connect && kind <= Kind::group_fence;
}

/// A member that wants its handlers to decide what becomes of the construct when another one is lost.
bool asks_handlers(const Arrival& arrival);
/// What this node asks for where a node is lost. The same kinds of operations ask on all nodes, with their
/// own members' directives.
collectives::AfterLoss after_loss_of(const Operation& operation);
/// By which all nodes know it.
Participants participants_of(const Operation& operation);

/// It is among the arrivals.
bool has_arrived(const Operation& operation, const Job& job, std::uint32_t local) noexcept;

/// PMIX_SUCCESS: it may still call.
pmix_status_t end_of(const Job& job, std::uint32_t local) noexcept;

/// Participants of this node that have not called, and are waited for.
struct Missing {
  Procs to_come{};
  pmix_status_t lost = PMIX_SUCCESS;  ///< why one of them can not come
};
Missing missing_of(const Jobs& jobs, const Operation& operation);

/// Which participants of this node are missing. generation: 0 where the nodes do not count.
FencePart part_of(const Jobs& jobs, const Operation& operation, std::uint64_t generation);

}  // namespace weft::server
