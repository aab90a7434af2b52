// SPDX-License-Identifier: BSD-3-Clause
// Operations: fences and ends of a group whose members change while they are under way.
//
//   it goes on with fewer   the next attempt is among the members that are left (adjust())
//   it does not             it fails, for all that were members when it began
//
// A member that calls only after the leave is in the collective of those that are left, which is another one
// than that of the callers before it. Its call belongs to the attempt that has failed: so each node that has
// failed refuses the next attempt among those that are left, with the same status, and the late call ends by
// that. The same holds for what had failed earlier, for another reason (Failures): the ends that members are
// owed stay owed, whatever the members are by then.
#include <algorithm>

#include "core/events/range.hpp"
#include "core/server/groups/operation/operations.hpp"

namespace weft::server {

/// Whether the other nodes know an operation by its members, which change.
bool Operations::is_of_members(const Operation& operation) const {
  return operation.is_of_group() && !operation.is_constructed() && !is_by_host(operation);
}

/// This node takes part for members that have ended, and one that may call has joined since: its call begins
/// the operation.
bool Operations::may_be_called(const Operation& operation) const {
  const auto* group = operation.arrived.empty() ? rooms_.groups.table().find(operation.name.group) : nullptr;
  if (group == nullptr) return false;
  const auto here = rooms_.groups.local_members(*group);
  return std::any_of(here.begin(), here.end(), [&](const pmix_proc_t& proc) {
    return !contains(operation.lost, proc) && rooms_.jobs.connection_of(proc) != nullptr;
  });
}

void Operations::lose_member(const std::string& group, const Procs& now, const pmix_proc_t& gone) {
  owed_.leave(group, gone);
  for (const auto kind : {Operation::Kind::group_fence, Operation::Kind::destruct})
    for (const auto status : open_.failures().of({kind, group})) refuse_among({kind, group}, now, status);
  const auto node = rooms_.peers.node_of(gone);
  if (!node || *node == rooms_.peers.self()) return;  // what this node has begun has its own members in it
  for (const auto& operation : open_.in(OperationState::with_nodes)) {
    const bool is_of_it = operation->name.group == group && is_of_members(*operation) && operation->key;
    if (!is_of_it || is_same(operation->set, now) || !events::covers(operation->set, gone)) continue;
    const auto status = operation->goes_on_smaller ? Exchanges::rivals : Exchanges::changed;
    const auto key = *operation->key;
    rooms_.exchanges.ask(Exchanges::name_of(*operation->participants, key.second), *node,
                         [this, operation, key, status](const FencePart* part) {
                           const bool has_come = part != nullptr && part->state == FencePart::State::entered;
                           const bool is_open =
                               operation->state == OperationState::with_nodes && operation->key == key;
                           if (!has_come && is_open) rooms_.exchanges.abort(key, status);
                         });
  }
}

/// An attempt has failed here. Returns the status of the answers.
pmix_status_t Operations::failed(const Operation& operation, pmix_status_t why) {
  if (!is_of_members(operation) || is_passed_over(why) || !has_other_nodes(operation.set)) return why;
  const auto* group = rooms_.groups.table().find(operation.name.group);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members) return why;
  open_.failures().add(operation.name, why);
  const auto set = rooms_.groups.set_of_group(*members);
  return is_same(set, operation.set) ? why : refuse_among(operation.name, set, why);
}

/// The next attempt among these members fails here, unless another node has ended it before. Returns how it
/// has ended. Each attempt without a lost node fails where there is one.
pmix_status_t Operations::refuse_among(const OperationName& name, const Procs& set, pmix_status_t why) {
  const Participants participants(set, name);
  if (!may_exchange_ || !has_other_nodes(set) || rooms_.exchanges.has_lost_node(participants)) return why;
  return refuse_next(participants, why);
}

/// Attempts that are none of this node are passed over.
pmix_status_t Operations::refuse_next(const Participants& participants, pmix_status_t why) {
  auto status = rooms_.exchanges.refuse(participants, why);
  while (status != why && is_passed_over(status)) status = rooms_.exchanges.refuse(participants, why);
  return status;
}

}  // namespace weft::server
