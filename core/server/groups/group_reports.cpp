// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/group_reports.hpp"

#include <algorithm>
#include <iterator>

#include "core/server/fences/local_part.hpp"

namespace weft::server {

GroupReports::GroupReports(Rooms rooms) : rooms_(rooms) {
  rooms_.peers.on(RequestType::group_part, *this, &GroupReports::answer_part);
}

void GroupReports::each_kept(const SeeWait& see) const {
  rooms_.invitations.each_wait(see);
  rooms_.memberships.each_wait(see);
  rooms_.bootstraps.each_wait(see);
}

/// As this node sees it.
FencePart GroupReports::part_of(const KeptWait& wait) const {
  const auto operation = to_text(wait.name.operation);
  auto out = local_part(rooms_.jobs, link::procs_or_none(wait.name.procs), wait.name,
                        [&](const Job& job, std::uint32_t local) {
                          const auto proc = link::make_proc(job.nspace, job.rank_of(local));
                          return wait.has_come(proc) && !rooms_.questions.is_asked(proc, operation);
                        });
  out.remark = wait.remark;
  out.set_age(rooms_.loop.now() - wait.since);
  return out;
}

/// Its process alone is in it.
FencePart GroupReports::part_of(const Lookups::Wait& wait) const {
  FencePart out;
  out.name = {link::runs_of({wait.proc}), 0, {OperationName::Kind::lookup, wait.missing}};
  out.state = FencePart::State::entered;
  out.ranks = out.arrived = 1;
  out.remark = ", published by no process,";
  out.set_age(rooms_.loop.now() - wait.since);
  return out;
}

std::vector<FencePart> GroupReports::open_parts() const {
  auto out = rooms_.operations.open_parts();
  each_kept([&](const KeptWait& wait) { out.push_back(part_of(wait)); });
  std::ranges::move(rooms_.gatherings.open_parts(), std::back_inserter(out));
  rooms_.published.lookups().each_wait([&](const Lookups::Wait& wait) { out.push_back(part_of(wait)); });
  return out;
}

std::vector<Fences::Waiting> GroupReports::waiting_for(std::chrono::seconds limit) {
  std::vector<Fences::Waiting> out;
  each_kept([&](const KeptWait& wait) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(rooms_.loop.now() - wait.since);
    if (wait.is_reported || age < limit) return;
    wait.is_reported = true;
    const auto by_node = rooms_.peers.by_node(link::procs_or_none(wait.name.procs));
    const bool is_between_nodes = by_node.size() > by_node.count(rooms_.peers.self());
    out.push_back({part_of(wait), age, is_between_nodes, true, wait.also});
  });
  std::ranges::move(rooms_.gatherings.waiting_for(limit), std::back_inserter(out));
  rooms_.published.lookups().each_wait([&](const Lookups::Wait& wait) {
    const auto age = std::chrono::duration_cast<std::chrono::seconds>(rooms_.loop.now() - wait.since);
    if (wait.is_reported || age < limit) return;
    wait.is_reported = true;
    out.push_back({part_of(wait), age, false, true, "a process that publishes it"});
  });
  return out;
}

/// What another node's server keeps waits for processes of this one.
std::optional<FencePart> GroupReports::part_in(const FenceName& name) const {
  if (!name.operation.is_kept_by_one_server()) return rooms_.gatherings.part_in(name);
  const auto procs = rooms_.jobs.procs_of(name.procs);
  if (!procs || rooms_.jobs.nodes_of(*procs).empty()) return std::nullopt;
  const bool is_bootstrap = name.operation.kind == OperationName::Kind::bootstrap;
  const auto operation = to_text(name.operation);
  return local_part(rooms_.jobs, *procs, name, [&](const Job& job, std::uint32_t local) {
    const auto proc = link::make_proc(job.nspace, job.rank_of(local));
    if (is_bootstrap) return rooms_.bootstraps.has_called(name, proc);
    return !rooms_.invited.is_awaited(name, proc) && !rooms_.questions.is_asked(proc, operation);
  });
}

/// To a server that waits in the operation. Its question may end it here.
void GroupReports::answer_part(NodeNumber, FenceName name, const Rpc::Reply& reply) {
  const PartReply out{part_in(name)};
  if (out.part && !name.operation.is_kept_by_one_server()) rooms_.gatherings.take_inquiry(name);
  reply(PMIX_SUCCESS, encode(out));
}

}  // namespace weft::server
