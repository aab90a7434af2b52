// SPDX-License-Identifier: BSD-3-Clause
// The life of an operation at which participants meet, as a table: state x event -> action, next state. Pure;
// tests walk every row.
#pragma once

#include <cstdint>

namespace weft::server {

enum class OperationState : std::uint8_t {
  gathering,   ///< participants of this node call
  by_host,     ///< all of them are in it, and the host does the rest: it cannot be stopped
  with_nodes,  ///< all of them are in it, and an attempt is under way between the nodes
  asking,      ///< a node is lost, and handlers are asked whether there is another attempt
  refusing,    ///< it has failed here, and its end is awaited, which is the same at all nodes
  ended,       ///< each participant of this node has its answer, or is owed it
};
inline constexpr int operation_states = 6;

enum class OperationEvent : std::uint8_t {
  complete,   ///< the participants of this node have come, or are left out
  given,      ///< the same, and the host makes such operations
  hopeless,   ///< one of them is lost or has left, or it cannot be: it does not go on without
  late,       ///< the deadline of one has passed, or another node says that it takes no part
  aborted,    ///< handlers have decided so, here or at another node
  approved,   ///< handlers have decided that it goes on
  replied,    ///< the host has
  succeeded,  ///< the attempt between the nodes
  failed,     ///< the same
  owed,       ///< the same, and the members are others by now: late callers are in an attempt of these
  passed,     ///< the same: it was other nodes' alone, or of other members, and none of this operation
  grown,      ///< the same; it is of more members now, and some of this node have not called
  shrunk,     ///< it has ended with a lost node, and all that are left go on
  unsure,     ///< the same, and this server asks the handlers of members whether they do
  withdrawn,  ///< the same; it was for members that have ended, and one that may call has joined since
};
inline constexpr int operation_events = 15;

enum class OperationAction : std::uint8_t {
  none,
  exchange,  ///< the next attempt begins between the nodes; where all members are here it has succeeded
  call,      ///< the host is called
  finish,    ///< what follows from a good end, and the answers
  answer,    ///< it has failed: the answers, and the host that makes such operations hears it
  refuse,    ///< the next attempt is refused, and so fails at all nodes, unless another has ended it before
  give_up,   ///< the servers agree on the attempt's end, which comes as an event
  ask,       ///< handlers are asked
  drop,      ///< no participant of this node has called, and nothing follows
};

struct OperationRow {
  OperationState state;
  OperationEvent event;
  OperationAction action;
  OperationState next;
};

inline constexpr OperationRow operation_rows[] = {
    {OperationState::gathering, OperationEvent::complete, OperationAction::exchange,
     OperationState::with_nodes},
    {OperationState::gathering, OperationEvent::given, OperationAction::call, OperationState::by_host},
    {OperationState::gathering, OperationEvent::hopeless, OperationAction::refuse, OperationState::refusing},
    {OperationState::gathering, OperationEvent::late, OperationAction::refuse, OperationState::refusing},
    {OperationState::gathering, OperationEvent::aborted, OperationAction::refuse, OperationState::refusing},

    {OperationState::by_host, OperationEvent::replied, OperationAction::answer, OperationState::ended},

    // This node's part is with the others: another node may have ended the attempt well.
    {OperationState::with_nodes, OperationEvent::late, OperationAction::give_up, OperationState::with_nodes},
    {OperationState::with_nodes, OperationEvent::succeeded, OperationAction::finish, OperationState::ended},
    {OperationState::with_nodes, OperationEvent::failed, OperationAction::answer, OperationState::ended},
    {OperationState::with_nodes, OperationEvent::owed, OperationAction::refuse, OperationState::refusing},
    {OperationState::with_nodes, OperationEvent::passed, OperationAction::exchange,
     OperationState::with_nodes},
    {OperationState::with_nodes, OperationEvent::grown, OperationAction::none, OperationState::gathering},
    {OperationState::with_nodes, OperationEvent::shrunk, OperationAction::exchange,
     OperationState::with_nodes},
    {OperationState::with_nodes, OperationEvent::unsure, OperationAction::ask, OperationState::asking},
    {OperationState::with_nodes, OperationEvent::withdrawn, OperationAction::drop, OperationState::ended},

    // The others have begun the next attempt, and wait for this node's part in it.
    {OperationState::asking, OperationEvent::late, OperationAction::refuse, OperationState::refusing},
    {OperationState::asking, OperationEvent::aborted, OperationAction::refuse, OperationState::refusing},
    {OperationState::asking, OperationEvent::approved, OperationAction::exchange, OperationState::with_nodes},

    {OperationState::refusing, OperationEvent::failed, OperationAction::answer, OperationState::ended},
    {OperationState::refusing, OperationEvent::owed, OperationAction::refuse, OperationState::refusing},
};

constexpr bool is_between_nodes(OperationState state) noexcept {
  return state == OperationState::with_nodes || state == OperationState::asking ||
         state == OperationState::refusing;
}

struct OperationStep {
  OperationAction action;
  OperationState next;
};

/// What has no row changes nothing.
constexpr OperationStep operation_step(OperationState state, OperationEvent event) noexcept {
  for (const auto& row : operation_rows)
    if (row.state == state && row.event == event) return {row.action, row.next};
  return {OperationAction::none, state};
}

}  // namespace weft::server
