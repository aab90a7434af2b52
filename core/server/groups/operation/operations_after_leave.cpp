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
#include "core/server/jobs/members.hpp"

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
    return !contains(operation.lost, proc) && connection_of(rooms_.jobs, proc) != nullptr;
  });
}

void Operations::lose_member(const OperationName& fence, const Procs& now, const pmix_proc_t& gone) {
  const auto& group = fence.group;
  owed_.leave(group, gone);
  for (const auto kind : {Operation::Kind::group_fence, Operation::Kind::destruct})
    if (const Participants left(now, {kind, group, fence.series}); may_refuse(left))
      for (const auto status : open_.failures().of({kind, group})) refuse_next(left, status);
  const auto node = rooms_.peers.node_of(gone);
  if (!node || *node == rooms_.peers.self()) return;  // what this node has begun has its own members in it
  for (const auto& operation : open_.in(OperationState::with_nodes)) {
    const bool is_of_it = operation->name.group == group && is_of_members(*operation) && operation->key;
    if (!is_of_it || operation->name.series == fence.series || !events::covers(operation->set, gone))
      continue;
    const auto key = *operation->key;
    rooms_.exchanges.ask(Exchanges::name_of(*operation->participants, key.second), *node,
                         [this, operation, key](const FencePart* part) {
                           const bool has_come = part != nullptr && part->state == FencePart::State::entered;
                           const bool is_open =
                               operation->state == OperationState::with_nodes && operation->key == key;
                           if (has_come || !is_open) return;
                           operation->goes_on_smaller ? rooms_.exchanges.withdraw(key)
                                                      : rooms_.exchanges.abort(key, PMIX_ERR_UNREACH);
                         });
  }
}

/// Among the members that there are now, of which some may not have called here.
void Operations::begin_again(const OperationRef& operation) {
  auto missing = operation->goes_on_smaller ? Missing() : missing_of(rooms_.jobs, *operation);
  if (missing.to_come.empty() && missing.lost == PMIX_SUCCESS) return step(operation, OperationEvent::passed);
  operation->participants.reset();
  step(operation, OperationEvent::grown);
  if (missing.lost == PMIX_SUCCESS) return;
  operation->owed = std::move(missing.to_come);
  step(operation, OperationEvent::hopeless, {missing.lost});
}

bool Operations::goes_over_to(const OperationName& name) {
  const auto* group = rooms_.groups.table().find(name.group);
  if (group == nullptr || group->series != name.series) return false;
  const auto open = open_.find_if([&](const Operation& each) {
    return each.state == OperationState::with_nodes && each.name == name && each.name.series != name.series &&
           is_of_members(each) && !each.arrived.empty() && each.key;
  });
  if (open) rooms_.exchanges.withdraw(*open->key);
  return open != nullptr;
}

void Operations::refuse_before(const Operation& operation, collectives::Generation generation) {
  const auto participants = participants_of(operation);
  const auto first = attempts(operation) + 1;
  const auto last = std::min<collectives::Generation>(generation, first + Failures::most);  // more is damage
  for (auto next = first; next < last && may_refuse(participants); ++next)
    static_cast<void>(rooms_.exchanges.refuse(participants, PMIX_ERR_PROC_ABORTED, nullptr));
}

/// It has failed here. True: it is to fail among the members that there are now, too.
bool Operations::owe(Operation& operation, pmix_status_t why) {
  const bool is_of_nodes = is_of_members(operation) && has_other_nodes(operation.set);
  if (!is_of_nodes || why == PMIX_ERR_TIMEOUT || operation.is_owed) return false;
  const auto* group = rooms_.groups.table().find(operation.name.group);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members) return false;
  open_.failures().add(operation.name, why);
  operation.is_owed = true;
  if (group->series == operation.name.series) return false;
  operation.participants = Participants(rooms_.groups.set_of_group(*members),
                                        {operation.name.kind, operation.name.group, group->series});
  return may_refuse(*operation.participants);
}

bool Operations::may_refuse(const Participants& participants) const {
  return may_exchange_ && has_other_nodes(participants);
}

/// The next attempt among these members fails here. One that is none of this node is passed over.
void Operations::refuse_next(const Participants& participants, pmix_status_t why) {
  static_cast<void>(
      rooms_.exchanges.refuse(participants, why, [this, participants, why](const Exchanges::End& ended) {
        if (is_others_alone(ended, why)) refuse_next(participants, why);
      }));
}

}  // namespace weft::server
