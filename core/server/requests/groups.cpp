// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Process Sets and Groups": the rooms of groups/ serve them, and ask
// the host where it does groups. A request comes after what its process has made at boards, so each settles
// the table first.
#include "core/server/requests/chapters.hpp"

namespace weft::server {
namespace {

/// A group's name stands wherever a namespace may.
bool is_group_name(const std::string& name) {
  return !name.empty() && name.size() <= PMIX_MAX_NSLEN && name.find('\0') == std::string::npos;
}

void on_construct(const RequestRooms& rooms, const Requester& from, link::GroupConstruct message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  rooms.group_table.settle();
  if (Bootstraps::is_for(message) && !rooms.host.does_groups())
    return rooms.bootstraps.enter(from, std::move(message));
  rooms.gatherings.enter(from, {OperationName::Kind::construct, std::move(message.group)},
                         std::move(message.procs), std::move(message.directives),
                         std::chrono::milliseconds(message.waited_ms));
}

void on_destruct(const RequestRooms& rooms, const Requester& from, link::GroupDestruct message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  rooms.group_table.settle();
  rooms.gatherings.enter_known(from, {OperationName::Kind::destruct, std::move(message.group)},
                               std::move(message.directives), std::chrono::milliseconds(message.waited_ms));
}

void on_invite(const RequestRooms& rooms, const Requester& from, link::GroupInvite message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  rooms.group_table.settle();
  rooms.invitations.invite(from, std::move(message));
}

void on_join(const RequestRooms& rooms, const Requester& from, link::GroupJoin message) {
  if (!is_group_name(message.group)) return from.reply(PMIX_ERR_BAD_PARAM);
  rooms.group_table.settle();
  const bool is_invited = message.leader.nspace[0] != '\0';
  return is_invited ? rooms.invited.join(from, message) : rooms.memberships.join(from, message);
}

void on_leave(const RequestRooms& rooms, const Requester& from, link::GroupLeave message) {
  rooms.group_table.settle();
  rooms.memberships.leave(from, message);
}

void on_group_fence(const RequestRooms& rooms, const Requester& from, link::GroupFence message) {
  rooms.group_table.settle();
  rooms.gatherings.enter_known(from, {OperationName::Kind::group_fence, std::move(message.group)},
                               std::move(message.directives), std::chrono::milliseconds(message.waited_ms));
}

void on_verdict(const RequestRooms& rooms, const Requester& from, link::GroupVerdict message) {
  rooms.group_table.settle();
  rooms.questions.take(from.connection, std::move(message));
}

}  // namespace

std::span<const Request> group_requests() noexcept {
  using link::MessageType;
  constexpr auto members = Senders::members_tools_refused;
  static constexpr Request requests[] = {
      {MessageType::group_construct, members, Reply::later, for_processes, decoded<on_construct>},
      {MessageType::group_destruct, members, Reply::later, 1, decoded<on_destruct>},
      {MessageType::group_invite, members, Reply::later, for_processes, decoded<on_invite>},
      {MessageType::group_join, members, Reply::later, for_processes, decoded<on_join>},
      {MessageType::group_leave, members, Reply::later, 1, decoded<on_leave>},
      {MessageType::group_fence, members, Reply::later, 1, decoded<on_group_fence>},
      {MessageType::group_verdict, Senders::members, Reply::none, 1, decoded<on_verdict>},
  };
  return requests;
}

}  // namespace weft::server
