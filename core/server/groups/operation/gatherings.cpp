// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/operation/gatherings.hpp"

#include <algorithm>
#include <iterator>

#include "core/events/range.hpp"
#include "core/server/jobs/members.hpp"
#include "weft/pmix_extensions.h"

namespace weft::server {

namespace {

/// When the caller gives up, which has waited for a while before its message.
data::Deadline deadline_in(const data::Infos& directives, Loop::TimePoint since) {
  const auto timeout = data::timeout_in(directives);
  return timeout ? data::deadline_after(*timeout, since) : data::Deadline();
}

}  // namespace

Gatherings::Gatherings(Loop& loop, OpenOperations& open, Rooms rooms)
    : loop_(loop), open_(open), rooms_(rooms) {
  rooms_.peers.on(RequestType::group_aborted,
                  [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { take_abort(body, reply); });
  rooms_.peers.on(RequestType::group_unknown,
                  [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { take_unknown(body, reply); });
}

// ---- participants that call

void Gatherings::enter(const Requester& from, OperationName name, Procs procs, data::Infos directives,
                       std::chrono::milliseconds waited) {
  auto set = name.group.empty() ? canonical(procs) : rooms_.groups.set_of_group(procs);
  if (rooms_.operations.takes(from, name, set, directives, deadline_in(directives, loop_.now() - waited)))
    return;
  const bool goes_on_smaller =
      name.kind == Operation::Kind::construct &&
      (is_set(directives, PMIX_GROUP_OPTIONAL) || is_set(directives, PMIX_GROUP_FT_COLLECTIVE));
  enter(std::move(name), std::move(set), {from, std::move(procs), std::move(directives), waited},
        goes_on_smaller);
}

void Gatherings::enter_known(const Requester& from, OperationName name, data::Infos directives,
                             std::chrono::milliseconds waited) {
  const auto deadline = deadline_in(directives, loop_.now() - waited);
  if (rooms_.operations.takes(from, name, {}, directives, deadline)) return;
  const auto* group = rooms_.groups.table().find(name.group);
  auto members = group != nullptr ? link::procs_of(group->members) : weft::fail(Errc::not_found);
  if (!members || !link::holds(group->members, from.proc())) return from.reply(PMIX_ERR_NOT_FOUND);
  name.series = group->series;
  const bool adjusts = group->options.adjusts || is_set(directives, PMIX_GROUP_FT_COLLECTIVE);
  const bool goes_on_smaller =
      adjusts || (name.kind == Operation::Kind::destruct && group->options.tells_ends);
  const auto set = rooms_.groups.set_of_group(*members);
  auto in_order = std::is_sorted(members->begin(), members->end(), link::is_less) ? set : std::move(*members);
  enter(std::move(name), set, {from, std::move(in_order), std::move(directives), waited}, goes_on_smaller);
}

void Gatherings::enter(OperationName name, Procs set, Arrival arrival, bool goes_on_smaller) {
  const auto from = arrival.from;
  const auto since = loop_.now() - arrival.waited;
  const auto deadline = deadline_in(arrival.directives, since);
  if (from.connection->job == nullptr) return from.reply(PMIX_ERR_NOT_SUPPORTED);  // a tool
  if (set.empty() || !events::covers(set, from.proc())) return from.reply(PMIX_ERR_BAD_PARAM);
  if (!data::timeout_in(arrival.directives)) return from.reply(PMIX_ERR_BAD_PARAM);
  if (name.kind == Operation::Kind::disconnect && !rooms_.host.does_connect() &&
      !rooms_.operations.are_connected(set))
    return from.reply(PMIX_ERR_INVALID_OPERATION);
  if (!name.group.empty()) rooms_.boards.dissolve(set);  // members that wait there come here, too
  // Threads of one process may be in two of the same: each call of a process belongs to another one. Of a
  // group's fences a call belongs to that of the members that it has begun with.
  auto open = open_.find_gathering(name, set, [&](const Operation& each) {
    return (!each.is(Operation::Kind::group_fence) || events::covers(each.set, from.proc())) &&
           !has_arrived(each, *from.connection->job, from.connection->local);
  });
  if (!open) open = add({.name = std::move(name), .set = set});
  const bool is_by_host = rooms_.operations.is_by_host(*open);
  if (open->is_constructed() && !is_by_host) tell_others(*open, arrival);
  open->since = std::min(open->since, since);
  open->arrived.push_back(std::move(arrival));
  open->goes_on_smaller |= goes_on_smaller && !is_by_host;
  const bool may_differ =
      open->is(Operation::Kind::group_fence);  // one that has begun before a process joined
  if (!may_differ && !is_same(open->set, set))
    return rooms_.operations.end(open, OperationEvent::hopeless, PMIX_ERR_BAD_PARAM);  // they do not agree
  rooms_.operations.watch_deadline(open, deadline);
  if (open->goes_on_smaller) leave_out_lost(*open);
  if (is_complete(*open)) return rooms_.operations.complete(open);
  look_for_lost(open);
}

/// By the directives of the draft of RFC 0033 that this call brings.
void Gatherings::tell_others(const Operation& operation, const Arrival& arrival) {
  const bool tells = is_set(arrival.directives, PMIX_GROUP_NOTIFY_EACH);
  const bool requests = is_set(arrival.directives, PMIX_GROUP_NOTIFY_REQ);
  if (!tells && !requests) return;
  const auto& proc = arrival.from.proc();
  const auto& group = operation.name.group;
  const auto members = rooms_.groups.by_rank(operation.set);
  auto others = link::procs_or_none(members);
  std::erase_if(others, [&](const pmix_proc_t& each) { return link::is_same(each, proc); });
  if (tells) rooms_.events.tell({PMIX_PROC_HAS_JOINED, proc, group, nullptr, &proc}, others);
  if (requests) rooms_.events.tell({PMIX_GROUP_REQUESTED, proc, group, &members, nullptr}, others);
}

bool Gatherings::is_complete(const Operation& operation) const {
  bool out = operation.undecided.empty();
  each_local(rooms_.jobs, operation.set, [&](const Job& job, std::uint32_t local) {
    out = out && (has_arrived(operation, job, local) ||
                  (!operation.lost.empty() &&
                   contains(operation.lost, link::make_proc(job.nspace, job.rank_of(local)))));
  });
  return out;
}

void Gatherings::look_at(const pmix_proc_t& member, store::BoardNumber number) {
  for (auto& full : rooms_.boards.look_at(member, number)) rooms_.operations.run_at_board(std::move(full));
  rooms_.groups.table().settle();
}

void Gatherings::forget(const std::string& nspace) {
  for (const auto& open : open_.in(OperationState::gathering)) {
    const bool is_its_own =
        std::all_of(open->arrived.begin(), open->arrived.end(),
                    [&](const Arrival& arrival) { return link::is_of(arrival.from.proc(), nspace); });
    if (rooms_.operations.is_by_host(*open) && is_its_own) open_.erase(open);
  }
}

namespace {

bool is_with_others(const Operation& operation, const std::string& nspace) {
  const auto is_its = [&](const pmix_proc_t& proc) { return link::is_of(proc, nspace); };
  const auto count = std::count_if(operation.set.begin(), operation.set.end(), is_its);
  return count != 0 && static_cast<std::size_t>(count) != operation.set.size();
}

}  // namespace

bool Gatherings::is_any_under_way_with(const std::string& nspace) const {
  return open_.find_if([&](const Operation& open) {
    const bool may_fail =
        open.state == OperationState::gathering && after_loss_of(open) < collectives::AfterLoss::asks;
    return !may_fail && is_with_others(open, nspace);
  }) != nullptr;
}

void Gatherings::end_all_with(const std::string& nspace) {
  for (const auto& open : open_.in(OperationState::gathering)) {
    if (is_with_others(*open, nspace))
      fail_for_all(open, OperationEvent::hopeless, PMIX_ERR_UNREACH,
                   link::make_proc(nspace, PMIX_RANK_UNDEF));
  }
}

// ---- which ranks are missing

/// The servers do the rest, those of other nodes, too.
bool Gatherings::is_between_nodes(const Operation& operation) const {
  return !rooms_.operations.is_by_host(operation) && rooms_.operations.has_other_nodes(operation.set);
}

FencePart Gatherings::part_of(const Operation& operation) const {
  auto part = server::part_of(rooms_.jobs, operation,
                              is_between_nodes(operation) ? rooms_.operations.attempts(operation) + 1 : 1);
  part.set_age(loop_.now() - operation.since);
  return part;
}

std::vector<FencePart> Gatherings::open_parts() const {
  std::vector<FencePart> out;
  for (const auto& open : open_.in(OperationState::gathering)) out.push_back(part_of(*open));
  return out;
}

std::vector<Fences::Waiting> Gatherings::waiting_for(std::chrono::seconds limit) {
  std::vector<Fences::Waiting> out;
  for (const auto& open : open_.in(OperationState::gathering)) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(loop_.now() - open->since);
    if (open->is_reported || age < limit) continue;
    open->is_reported = true;
    out.push_back({part_of(*open), age, is_between_nodes(*open)});
  }
  return out;
}

std::optional<FencePart> Gatherings::part_in(const FenceName& name) const {
  auto procs = rooms_.jobs.procs_of(name.procs);
  if (!procs || rooms_.jobs.nodes_of(*procs).empty() || !is_met_for(name.operation.kind)) return std::nullopt;
  const Operation named{.name = name.operation, .set = std::move(*procs)};
  const auto attempts = rooms_.operations.attempts(named);
  const auto open = open_.gathering(named.name, named.set);
  if (open && name.generation == attempts + 1) return part_of(*open);
  auto part = server::part_of(rooms_.jobs, named, name.generation);
  if (name.generation > attempts) return part;
  part.missing.clear();
  part.arrived = part.ranks;
  part.state = FencePart::State::entered;
  return part;
}

}  // namespace weft::server
