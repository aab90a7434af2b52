// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/events/event_wire.hpp"

#include "core/data/types/opaque.hpp"
#include "core/link/messages.hpp"

namespace weft::server {

std::vector<std::byte> encoded(const events::Event& event) {
  link::EventMessage message{event.code, event.source, event.range, {}};
  if (auto copy = data::Infos::copy_of(event.infos.data(), event.infos.size()))
    message.infos = std::move(*copy);
  return link::encode(message);
}

Result<events::Event> decoded_event(Bytes bytes) {
  const data::OpaqueIgnored ignored;
  auto message = link::decode<link::EventMessage>(bytes);
  if (!message) return fail(message.error());
  return events::Event{message->code, message->source, message->range, std::move(message->infos),
                       std::nullopt,  bytes.size()};
}

}  // namespace weft::server
