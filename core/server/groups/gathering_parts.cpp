// SPDX-License-Identifier: BSD-3-Clause
// Gatherings: which ranks are missing, what other nodes ask of it, and its part in what they do without
// members of this node.
#include <algorithm>
#include <iterator>

#include "core/events/range.hpp"
#include "core/server/groups/gatherings.hpp"
#include "core/server/jobs/members.hpp"

namespace weft::server {
namespace {

using Kind = Meeting::Kind;

}  // namespace

FencePart Gatherings::part_of(const Gathering& gathering) const {
  const auto& meeting = gathering.meeting;
  const bool is_shared = !is_by_host(meeting) && groups_.has_other_nodes(meeting.set);
  auto part =
      server::part_of(jobs_, meeting, is_shared ? groups_.attempts(groups_.participants_of(meeting)) + 1 : 1);
  part.set_age(loop_.now() - gathering.since);
  return part;
}

std::vector<FencePart> Gatherings::open_parts() const {
  auto out = groups_.open_parts();
  std::ranges::move(rooms_.invitations.open_parts(), std::back_inserter(out));
  std::ranges::move(rooms_.memberships.open_parts(), std::back_inserter(out));
  std::ranges::move(rooms_.bootstraps.open_parts(), std::back_inserter(out));
  for (const auto& gathering : open_) out.push_back(part_of(gathering));
  return out;
}

std::vector<Fences::Waiting> Gatherings::waiting_for(std::chrono::seconds limit) {
  auto out = rooms_.invitations.waiting_for(limit);
  std::ranges::move(rooms_.memberships.waiting_for(limit), std::back_inserter(out));
  std::ranges::move(rooms_.bootstraps.waiting_for(limit), std::back_inserter(out));
  for (auto& gathering : open_) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(loop_.now() - gathering.since);
    if (gathering.is_reported || age < limit) continue;
    gathering.is_reported = true;
    const bool is_shared = !is_by_host(gathering.meeting) && groups_.has_other_nodes(gathering.meeting.set);
    out.push_back({part_of(gathering), age, is_shared});
  }
  return out;
}

std::optional<FencePart> Gatherings::part_in(const FenceName& name) const {
  auto procs = jobs_.procs_of(name.procs);
  if (!procs || jobs_.nodes_of(*procs).empty()) return std::nullopt;
  if (name.operation.kind == OperationName::Kind::bootstrap) return rooms_.bootstraps.part_in(name);
  if (name.operation.is_kept_by_one_server()) return rooms_.invited.part_in(name);
  if (Meeting meeting; !read_operation(name.operation, meeting)) return std::nullopt;
  const Participants participants(std::move(*procs), name.operation);
  const auto attempts = groups_.attempts(participants);
  const auto* open = operations_.find(name.operation, participants.procs());
  if (open != nullptr && name.generation == attempts + 1) return part_of(*open);
  auto part = server::part_of(jobs_, {.set = participants.procs()}, name.generation);
  part.name.operation = name.operation;
  if (name.generation > attempts) return part;
  part.missing.clear();
  part.arrived = part.ranks;
  part.state = FencePart::State::entered;
  return part;
}

FenceName Gatherings::name_of(const Meeting& meeting) const {
  return {runs_of(meeting.set), groups_.attempts(groups_.participants_of(meeting)) + 1,
          operation_of(meeting)};
}

/// Another node is in this operation and asks whether our part of it has come, or will. If a participant of
/// this node was lost before any has called, it never will: then it ends at all nodes, or this node takes
/// part for those that are lost.
void Gatherings::answer_part(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  const auto part = name ? part_in(*name) : std::nullopt;
  if (!part) return reply(name ? PMIX_ERR_NOT_FOUND : PMIX_ERR_BAD_PARAM, {});
  if (name->operation.is_kept_by_one_server()) return reply(PMIX_SUCCESS, encode(*part));
  const Participants participants(*procs_of(name->procs), name->operation);
  // Where handlers are asked about it, this node's part comes when they have decided.
  const bool is_here = operations_.find(name->operation, participants.procs()) != nullptr ||
                       operations_.under_way(name->operation, participants.procs()) != nullptr;
  const bool is_due = !is_here && name->generation == groups_.attempts(participants) + 1;
  if (is_due) take_part_without(*name, participants);
  reply(PMIX_SUCCESS, encode(*part));
}

/// Handlers have aborted a construct at another node. Its members of this node that have called hear it at
/// once, and the others when they call. Where this node's part is with the others it is too late here, and
/// another node may end it, or none.
void Gatherings::take_abort(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  const auto set = name ? jobs_.procs_of(name->procs) : weft::fail(Errc::corrupt);
  Meeting meeting;
  const bool is_valid = set && !jobs_.nodes_of(*set).empty() && read_operation(name->operation, meeting) &&
                        meeting.kind == Kind::construct;
  if (!is_valid) return reply(PMIX_ERR_BAD_PARAM, {});
  meeting.set = *set;
  const bool is_asked = groups_.stop_asking(name->operation, meeting.set, PMIX_GROUP_CONSTRUCT_ABORT);
  if (!is_asked && name->generation == groups_.attempts(groups_.participants_of(meeting)) + 1) {
    const auto* known = operations_.find(name->operation, meeting.set);
    fail_for_all(known != nullptr ? by_number(known->number) : add(std::move(meeting)),
                 PMIX_GROUP_CONSTRUCT_ABORT, {});
  }
  reply(PMIX_SUCCESS, {});
}

/// The operation that another node is in has participants here that were lost, and none that has called: it
/// never can, or goes on without them, or a handler decides.
void Gatherings::take_part_without(const FenceName& name, const Participants& participants) {
  Meeting meeting{.set = participants.procs()};
  const auto lost = lost_of(meeting);
  if (!read_operation(name.operation, meeting) || lost.empty()) return;
  const bool is_to_ask = meeting.kind == Kind::construct && name.goes_on_smaller == 0;
  if (is_to_ask) return look_for_lost(add(std::move(meeting)));
  if (!is_of_group(meeting) || name.goes_on_smaller == 0)
    return fail_for_all(add(std::move(meeting)), lost.front().status, lost.front().proc);
  if (!groups_.may_take_part_in(meeting)) return;
  meeting.goes_on_smaller = true;
  leave_out_lost(meeting);
  const auto open = add(std::move(meeting));
  if (is_complete(*open)) return complete(open);
  open_.erase(open);
}

void Gatherings::lose_groups(const std::vector<std::string>& names) {
  for (const auto& name : names) {
    take_part_in_end(name);
    groups_.drop(name);
  }
}

/// No member of this node is left, and others may wait for them in the group's end. It may have ended with
/// them, or be under way for them.
void Gatherings::take_part_in_end(const std::string& name) {
  const auto* group = groups_.table().find(name);
  const auto members = group == nullptr ? weft::fail(Errc::not_found) : link::procs_of(group->members);
  if (!members || !group->options.tells_ends || host_.does_groups()) return;
  Meeting meeting{
      .kind = Kind::destruct, .group = name, .set = groups_.set_of_group(*members), .goes_on_smaller = true};
  if (!groups_.may_take_part_in(meeting)) return;
  each_local(jobs_, meeting.set, [&](const Job& job, std::uint32_t local) {
    meeting.lost.push_back(link::make_proc(job.nspace, job.rank_of(local)));
  });
  groups_.run(std::move(meeting));
}

}  // namespace weft::server
