// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Event Notification".
#include "core/server/events/event_wire.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

/// The host may have to be asked for these events: the reply comes when it has heard of what is new here.
void on_subscribe(const RequestRooms& rooms, const Requester& from, link::Subscribe message) {
  const auto added = rooms.events.subscribe(*from.connection, message.codes);
  if (!added) return from.reply(PMIX_ERR_OUT_OF_RESOURCE);
  data::Infos infos;
  from.add_user(infos);
  rooms.watched_codes.add(*added, std::move(infos), replying(from));
}

void on_unsubscribe(const RequestRooms& rooms, const Requester& from, link::Unsubscribe message) {
  const bool all = message.codes.empty();
  rooms.watched_codes.remove(rooms.events.unsubscribe(*from.connection, {std::move(message.codes), all}));
}

void on_notify(const RequestRooms& rooms, const Requester& from, Bytes payload) {
  auto event = decoded_event(payload);
  if (!event) return refuse_malformed(from);
  const auto* group = event->code == PMIX_GROUP_CONSTRUCT_ABORT ? event->infos.find(PMIX_GROUP_ID) : nullptr;
  if (group != nullptr && group->value.type == PMIX_STRING && group->value.data.string != nullptr)
    rooms.invitations.abort(from.proc(), group->value.data.string);
  rooms.events.relay(from.connection, from.tag, std::move(*event));
}

}  // namespace

std::span<const Request> event_requests() noexcept {
  using link::MessageType;
  static constexpr Request requests[] = {
      {MessageType::subscribe, Senders::all, Reply::later, 1, decoded<on_subscribe>},
      {MessageType::unsubscribe, Senders::all, Reply::none, 1, decoded<on_unsubscribe>},
      {MessageType::notify, Senders::all, Reply::later, for_processes, on_notify},
  };
  return requests;
}

}  // namespace weft::server
