// SPDX-License-Identifier: BSD-3-Clause
// Requests of the PMIx Standard, chapter "Fabric Support Definitions": the host's.
#include "core/server/host/held_call.hpp"
#include "core/server/requests/chapters.hpp"
#include "core/server/requests/replies.hpp"

namespace weft::server {
namespace {

void on_fabric(const RequestRooms& rooms, const Requester& from, link::Fabric message) {
  if (message.operation > PMIX_FABRIC_UPDATE_INFO) return from.answer({PMIX_ERR_BAD_PARAM, {}, {}});
  from.add_user(message.directives);
  const auto held = hold(from.proc(), std::move(message));
  rooms.host.ask<InfoUpcall>(
      &pmix_server_module_t::fabric, "fabric", ending(held, answering(from)), [&](auto fabric, void* open) {
        const auto& infos = held->message.directives;
        return fabric(&held->requester, static_cast<pmix_fabric_operation_t>(held->message.operation),
                      infos.data(), infos.size(), on_infos, open);
      });
}

}  // namespace

std::span<const Request> fabric_requests() noexcept {
  static constexpr Request requests[] = {
      {link::MessageType::fabric, Senders::all, Reply::later, 1, decoded<on_fabric>},
  };
  return requests;
}

}  // namespace weft::server
