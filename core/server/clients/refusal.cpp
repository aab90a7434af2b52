// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/clients/refusal.hpp"

#include <utility>

#include "base/log_format.hpp"
#include "core/data/types/wire.hpp"
#include "core/link/messages.hpp"

namespace weft::server {

bool refuse_other_version(const ConnectionRef& connection, const link::Frame& hello) {
  data::Reader peek(hello.payload);
  const auto wire = peek.u16();
  if (wire == link::wire_version) return false;
  refuse(connection, PMIX_ERR_NOT_SUPPORTED,
         "it speaks version " + std::to_string(wire) + " of the protocol, the server speaks version " +
             std::to_string(link::wire_version) + "; use the libpmix of the same Weft release for both");
  return true;
}

void refuse(const ConnectionRef& connection, pmix_status_t status, std::string reason) {
  base::info(base::LogPart::clients, "pid {} is refused as rank {} of {}: {}", connection->pid,
             connection->proc.rank, link::nspace_of(connection->proc), reason);
  connection->send(link::MessageType::refused, 0, link::encode(link::Refused{status, std::move(reason)}));
  connection->close();
}

}  // namespace weft::server
