// SPDX-License-Identifier: BSD-3-Clause
// Gatherings: what becomes of those that wait for a process that does not come, or for other members than
// before; and what other nodes ask of that.
#include <algorithm>
#include <iterator>

#include "core/events/range.hpp"
#include "core/server/groups/operation/gatherings.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {

// ---- participants of this node that are lost

/// Participants of this node that were lost before they called, and are waited for; those that have died
/// first. One that has asked to leave is none of them until it is known whether it has left.
std::vector<Gatherings::Lost> Gatherings::lost_of(const Operation& operation) const {
  std::vector<Lost> out;
  each_local(rooms_.jobs, operation.set, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    const auto status = end_of(job, local);
    if (status == PMIX_SUCCESS || has_arrived(operation, job, local) || contains(operation.lost, proc))
      return;
    if (!rooms_.groups.table().is_leaving(operation.name.group, proc)) out.push_back({proc, status});
  });
  std::stable_partition(out.begin(), out.end(),
                        [](const Lost& lost) { return lost.status == PMIX_ERR_PROC_ABORTED; });
  return out;
}

void Gatherings::leave_out_lost(Operation& operation) const {
  for (const auto& lost : lost_of(operation)) operation.lost.push_back(lost.proc);
}

void Gatherings::look_for_lost(const OperationRef& operation) {
  for (const auto& lost : lost_of(*operation))
    if (operation->state == OperationState::gathering) lose_in(operation, lost);
}

void Gatherings::look_for_lost(const std::string& group) {
  for (const auto& open : open_.in(OperationState::gathering))
    if (open->name.group == group) look_for_lost(open);
}

void Gatherings::lose(const pmix_proc_t& proc, pmix_status_t status) {
  for (const auto& open : open_.in(OperationState::gathering))
    if (open->state == OperationState::gathering && events::covers(open->set, proc) &&
        !rooms_.groups.table().is_leaving(open->name.group, proc))
      lose_in(open, {proc, status});
  lose_leader(proc, status);
}

/// A participant of this node will not call, and may have called before. Only a construct asks what is to
/// become of it.
void Gatherings::lose_in(const OperationRef& operation, const Lost& lost) {
  auto& open = *operation;
  if (rooms_.operations.is_by_host(open))  // with the directives of the lost one, if no other has called
    return rooms_.operations.end(operation, OperationEvent::hopeless, lost.status);
  const auto* arrival = open.find(lost.proc);
  const bool was_leader = (arrival != nullptr && is_set(arrival->directives, PMIX_GROUP_LEADER)) ||
                          contains(open.leaders, lost.proc);
  open.take_out(lost.proc);
  std::erase_if(open.leaders, [&](const pmix_proc_t& each) { return link::is_same(each, lost.proc); });
  if (open.goes_on_smaller) {
    if (!contains(open.lost, lost.proc)) open.lost.push_back(lost.proc);
    if (is_complete(open)) rooms_.operations.complete(operation);
    return;
  }
  const bool asks =
      was_leader || open_.facts_of(open.name, open.set).asks || rooms_.operations.has_other_nodes(open.set);
  if (contains(open.undecided, lost.proc)) return;
  if (!open.is_constructed() || !asks)
    return fail_for_all(operation, OperationEvent::hopeless, lost.status, lost.proc);
  open.undecided.push_back(lost.proc);
  rooms_.losses.decide(
      {next_name_of(open), open.name.group, lost.proc, lost.status, was_leader},
      [this, weak = std::weak_ptr(operation), proc = lost.proc](const Losses::Outcome& outcome) {
        const auto asking = weak.lock();
        if (asking && asking->state == OperationState::gathering) decided(asking, proc, outcome);
      });
}

void Gatherings::decided(const OperationRef& operation, const pmix_proc_t& proc,
                         const Losses::Outcome& outcome) {
  auto& open = *operation;
  if (outcome.status == PMIX_GROUP_CONSTRUCT_ABORT)
    rooms_.operations.tell_aborted(next_name_of(open), open.set);
  if (outcome.status != PMIX_SUCCESS)
    return fail_for_all(operation, OperationEvent::aborted, outcome.status, proc);
  std::erase_if(open.undecided, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  open.lost.push_back(proc);
  open.leaders.insert(open.leaders.end(), outcome.leaders.begin(), outcome.leaders.end());
  if (is_complete(open)) rooms_.operations.complete(operation);
}

/// It has called, and so have all others of this node: it is a member, and those that it led look for another
/// leader, or give up. This node's part is with the others, so the construct ends by a node whose part is
/// not: where all have called it is made.
void Gatherings::lose_leader(const pmix_proc_t& proc, pmix_status_t status) {
  for (const auto& open : open_.in(OperationState::with_nodes)) {
    const auto* arrival = open->is_constructed() ? open->find(proc) : nullptr;
    if (arrival == nullptr || !open->key || !is_set(arrival->directives, PMIX_GROUP_LEADER)) continue;
    const auto name = Exchanges::name_of(*open->participants, open->key->second);
    rooms_.losses.decide({name, open->name.group, proc, status, true, true},
                         [this, name, set = open->set](const Losses::Outcome& outcome) {
                           if (outcome.status == PMIX_GROUP_CONSTRUCT_ABORT)
                             rooms_.operations.tell_aborted(name, set);
                         });
  }
}

/// Also for the participants of this node that have not called, but for the lost one.
void Gatherings::fail_for_all(const OperationRef& operation, OperationEvent event, pmix_status_t status,
                              const pmix_proc_t& lost) {
  each_local(rooms_.jobs, operation->set, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    const bool may_call = end_of(job, local) == PMIX_SUCCESS && !link::is_same(proc, lost);
    if (may_call && !has_arrived(*operation, job, local)) operation->owed.push_back(proc);
  });
  rooms_.operations.end(operation, event, status);
}

void Gatherings::lose_groups(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    take_part_in_end(name);
    rooms_.groups.drop(name);
  }
}

/// No member of this node is left, and others may wait for them in the group's end. It may have ended with
/// them, or be under way for them.
void Gatherings::take_part_in_end(const std::string& name) {
  const auto* group = rooms_.groups.table().find(name);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members || !group->options.tells_ends) return;
  Operation end{.name = {Operation::Kind::destruct, name, group->series},
                .set = rooms_.groups.set_of_group(*members),
                .goes_on_smaller = true};
  if (rooms_.operations.is_by_host(end) || !rooms_.operations.may_take_part_in(end)) return;
  each_local(rooms_.jobs, end.set, [&](const Job& job, std::uint32_t local) {
    end.lost.push_back(link::make_proc(job.nspace, job.rank_of(local)));
  });
  rooms_.operations.complete(add(std::move(end)));
}

// ---- members that leave and join

/// What the others wait for, here or at a board until now, goes on without that member, or fails.
void Gatherings::left(const std::string& group, const pmix_proc_t& proc, const Procs& before,
                      std::uint64_t series) {
  auto& operations = rooms_.operations;
  const auto set_before = rooms_.groups.set_of_group(before);
  const auto* now = rooms_.groups.table().find(group);
  const auto members = now == nullptr ? weft::fail(Errc::not_found) : link::procs_of(now->members);
  const auto set = rooms_.groups.set_of_group(members ? *members : Procs());
  // What is completed here may be the end of the group.
  const bool is_known = now != nullptr;
  const auto options = is_known ? now->options : GroupOptions();
  const auto series_now = is_known ? now->series : 0;
  operations.lose_member({Operation::Kind::group_fence, group, series_now}, set, proc);
  std::set<Operation::Kind> failed, going_on;
  for (const auto& open : open_.in(OperationState::gathering)) {
    const auto kind = open->name.kind;
    const bool is_of_it =
        open->name.group == group && kind != Operation::Kind::construct && !operations.is_by_host(*open);
    if (!is_of_it || open->state != OperationState::gathering) continue;
    if (!events::covers(open->set, proc)) {  // it has begun before that process had joined
      going_on.insert(kind);
      continue;
    }
    (open->goes_on_smaller ? going_on : failed).insert(kind);
    if (!open->goes_on_smaller) {
      fail_for_all(open, OperationEvent::hopeless, PMIX_ERR_UNREACH, proc);
      continue;
    }
    if (const auto* arrival = open->find(proc)) arrival->from.reply(PMIX_ERR_NOT_A_MEMBER);
    open->take_out(proc);
    const bool is_of_all = open->name.series == series;
    open->set = is_of_all ? set : without(open->set, proc);
    if (is_of_all) open->name.series = series_now;
    if (open->arrived.empty())
      open_.erase(open);
    else if (is_complete(*open))
      operations.complete(open);
  }
  if (!is_known || options.adjusts) return;
  for (const auto kind : {Operation::Kind::group_fence, Operation::Kind::destruct}) {
    const OperationName name{kind, group, series};
    const bool is_seen_to = going_on.count(kind) != 0 || failed.count(kind) != 0 ||
                            (kind == Operation::Kind::destruct && options.tells_ends) ||
                            !operations.sent_away(name, set_before, true).empty();  // it has them all go on
    if (!is_seen_to && !operations.sent_away(name, set_before, false).empty())
      fail_for_all(add({.name = name, .set = set_before}), OperationEvent::hopeless, PMIX_ERR_UNREACH, proc);
  }
}

/// A fence that has begun here ends among the members that it has begun with, also where these were at a
/// board until now: it is open from here on, for those of them that have not called. The end of the group
/// waits for the new members, too.
void Gatherings::joined(const std::string& group, const Procs& before, std::uint64_t series) {
  const auto* now = rooms_.groups.table().find(group);
  const auto members = now == nullptr ? weft::fail(Errc::not_found) : link::procs_of(now->members);
  if (!members || before.empty()) return;
  open_.failures().forget(group);  // what members are owed, those that have joined are not
  Operation fence{.name = {Operation::Kind::group_fence, group, series},
                  .set = rooms_.groups.set_of_group(before)};
  bool is_open = false;
  for (const auto& open : open_.in(OperationState::gathering)) {
    if (open->name.group != group || rooms_.operations.is_by_host(*open)) continue;
    if (open->is(Operation::Kind::destruct)) {
      open->set = rooms_.groups.set_of_group(*members);
      open->name.series = now->series;
    }
    is_open |= open->name == fence.name && is_same(open->set, fence.set);
  }
  const bool is_to_come = !rooms_.operations.sent_away(fence.name, fence.set, false).empty() ||
                          !rooms_.operations.sent_away(fence.name, fence.set, true).empty();
  if (!is_open && is_to_come) add(std::move(fence));
}

/// The members of a group's set but one.
Procs Gatherings::without(const Procs& set, const pmix_proc_t& proc) const {
  auto procs = link::procs_or_none(rooms_.groups.by_rank(set));
  std::erase_if(procs, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  return rooms_.groups.set_of_group(procs);
}

// ---- what other nodes ask

/// By which all nodes know the attempt that it gathers for.
FenceName Gatherings::next_name_of(const Operation& operation) const {
  return {runs_of(operation.set), rooms_.operations.attempts(operation) + 1, operation.name};
}

void Gatherings::take_inquiry(const FenceName& name) {
  auto procs = rooms_.jobs.procs_of(name.procs);
  if (!procs || !is_met_for(name.operation.kind)) return;
  const auto set = canonical(std::move(*procs));
  note_meeting(rooms_.jobs, set);
  // Where handlers are asked about it, this node's part comes when they have decided.
  if (open_.gathering(name.operation, set) || open_.under_way(name.operation, set)) return;
  if (rooms_.operations.goes_over_to(name.operation)) return;
  const Operation named{.name = name.operation, .set = set};
  // No process of this node comes to those before: they have failed without this node.
  if (missing_of(rooms_.jobs, named).to_come.empty()) rooms_.operations.refuse_before(named, name.generation);
  if (name.generation == rooms_.operations.attempts(named) + 1) take_part_without(name, set);
}

/// The operation that another node is in has participants here that were lost, and none that has called: it
/// never can, or goes on without them, or a handler decides.
void Gatherings::take_part_without(const FenceName& name, const Procs& set) {
  Operation named{.name = name.operation, .set = set};
  // The end of a group with the members that the other node knows, beside a join: it goes over to this.
  const auto* group = rooms_.groups.table().find(name.operation.group);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (members && named.is(Operation::Kind::destruct) && group->series != named.name.series) {
    named.name.series = group->series;
    named.set = rooms_.groups.set_of_group(*members);
  }
  const auto lost = lost_of(named);
  if (lost.empty()) return;
  const bool is_to_ask = named.is_constructed() && !name.goes_on_smaller;
  if (is_to_ask) return look_for_lost(add(std::move(named)));
  if (!named.is_of_group() || !name.goes_on_smaller)
    return fail_for_all(add(std::move(named)), OperationEvent::hopeless, lost.front().status,
                        lost.front().proc);
  if (!rooms_.operations.may_take_part_in(named)) return;
  named.goes_on_smaller = true;
  leave_out_lost(named);
  if (is_complete(named)) rooms_.operations.complete(add(std::move(named)));
}

/// As another node names it. Errors: corrupt.
Result<Operation> Gatherings::construct_in(const Result<FenceName>& name) const {
  auto set = name ? rooms_.jobs.procs_of(name->procs) : weft::fail(Errc::corrupt);
  if (!set || rooms_.jobs.nodes_of(*set).empty() || name->operation.kind != Operation::Kind::construct)
    return weft::fail(Errc::corrupt);
  return Operation{.name = name->operation, .set = rooms_.groups.set_of_group(*set)};
}

/// Handlers have aborted a construct at another node. Its members of this node that have called hear it at
/// once, and the others when they call. Where this node's part is with the others it is too late here, and
/// another node may end it, or none.
void Gatherings::take_abort(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  auto named = construct_in(name);
  if (!named) return reply(PMIX_ERR_BAD_PARAM, {});
  const auto under_way = open_.under_way(named->name, named->set);
  if (under_way && under_way->state == OperationState::asking) {
    rooms_.operations.end(under_way, OperationEvent::aborted, PMIX_GROUP_CONSTRUCT_ABORT);
  } else if (name->generation == rooms_.operations.attempts(*named) + 1) {
    auto open = open_.gathering(named->name, named->set);
    if (!open) open = add(std::move(*named));
    fail_for_all(open, OperationEvent::aborted, PMIX_GROUP_CONSTRUCT_ABORT, {});
  }
  reply(PMIX_SUCCESS, {});
}

/// A node of its members has forgotten others of them, whose namespace has ended, and takes no part: the
/// construct is made nowhere. Its members of this node hear of it, or will when they call.
void Gatherings::take_unknown(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  auto named = construct_in(name);
  if (!named) return reply(PMIX_ERR_BAD_PARAM, {});
  if (const auto under_way = open_.under_way(named->name, named->set)) {
    under_way->is_unknown = true;
    rooms_.operations.end(under_way, OperationEvent::late, PMIX_ERR_UNREACH);
  } else if (name->generation == rooms_.operations.attempts(*named) + 1) {
    auto open = open_.gathering(named->name, named->set);
    if (!open) open = add(std::move(*named));
    fail_for_all(open, OperationEvent::hopeless, PMIX_ERR_UNREACH, {});
  }
  reply(PMIX_SUCCESS, {});
}

}  // namespace weft::server
