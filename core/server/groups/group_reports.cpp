// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/groups/group_reports.hpp"

#include <algorithm>
#include <iterator>

namespace weft::server {

GroupReports::GroupReports(Rooms rooms) : rooms_(rooms) {
  rooms_.peers.on(RequestType::group_part,
                  [this](NodeNumber, Bytes body, const Rpc::Reply& reply) { answer_part(body, reply); });
}

std::vector<FencePart> GroupReports::open_parts() const {
  auto out = rooms_.operations.open_parts();
  std::ranges::move(rooms_.invitations.open_parts(), std::back_inserter(out));
  std::ranges::move(rooms_.memberships.open_parts(), std::back_inserter(out));
  std::ranges::move(rooms_.bootstraps.open_parts(), std::back_inserter(out));
  std::ranges::move(rooms_.gatherings.open_parts(), std::back_inserter(out));
  return out;
}

std::vector<Fences::Waiting> GroupReports::waiting_for(std::chrono::seconds limit) {
  auto out = rooms_.invitations.waiting_for(limit);
  std::ranges::move(rooms_.memberships.waiting_for(limit), std::back_inserter(out));
  std::ranges::move(rooms_.bootstraps.waiting_for(limit), std::back_inserter(out));
  std::ranges::move(rooms_.gatherings.waiting_for(limit), std::back_inserter(out));
  return out;
}

std::optional<FencePart> GroupReports::part_in(const FenceName& name) const {
  if (!name.operation.is_kept_by_one_server()) return rooms_.gatherings.part_in(name);
  const auto procs = rooms_.jobs.procs_of(name.procs);
  if (!procs || rooms_.jobs.nodes_of(*procs).empty()) return std::nullopt;
  return name.operation.kind == OperationName::Kind::bootstrap ? rooms_.bootstraps.part_in(name)
                                                               : rooms_.invited.part_in(name);
}

/// To a server that waits in the operation. Its question may end it here.
void GroupReports::answer_part(Bytes body, const Rpc::Reply& reply) {
  const auto name = decode<FenceName>(body);
  const auto part = name ? part_in(*name) : std::nullopt;
  if (!part) return reply(name ? PMIX_ERR_NOT_FOUND : PMIX_ERR_BAD_PARAM, {});
  if (!name->operation.is_kept_by_one_server()) rooms_.gatherings.take_inquiry(*name);
  reply(PMIX_SUCCESS, encode(*part));
}

}  // namespace weft::server
