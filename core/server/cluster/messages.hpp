// SPDX-License-Identifier: BSD-3-Clause
// What servers of a cluster send each other, beside the bodies that other rooms define.
#pragma once

#include <string>

#include "base/wire.hpp"
#include "pmix_common.h"
#include "transport/mesh/contact.hpp"
#include "transport/mesh/version.hpp"
#include "transport/mesh/work.hpp"

namespace weft::server {

/// In front of each request and reply; its changes raise mesh::protocol_version.
struct RpcHeader {
  std::uint64_t number = 0;  ///< of the request, from 1; of a reply: the request's
  pmix_status_t status = PMIX_SUCCESS;
  std::uint16_t type = 0;  ///< of a request: a RequestType
  bool is_reply = false;
};
template <class Archive>
constexpr void fields(Archive& archive, RpcHeader& m) {
  archive(m.number, m.status, m.type, m.is_reply);
}
static_assert(base::fixed_bytes<RpcHeader> <= mesh::Sending::max_header);

/// What the embedding program carries from server to server: the first that a server sees of another one.
struct ServerContact {
  static constexpr std::uint16_t wire_version = mesh::protocol_version;
  mesh::NodeNumber node = 0;
  std::string host;
  mesh::Contact contact;
  std::uint64_t machine = 0;  ///< machine_number()
};
template <class Archive>
void fields(Archive& archive, ServerContact& m) {
  archive(m.node, m.host, m.contact, m.machine);
}
/// How a contact begins in every version, so that one of another version is refused by name.
struct ServerName {
  std::uint16_t version = 0;
  mesh::NodeNumber node = 0;
  std::string host;
};
template <class Archive>
void fields(Archive& archive, ServerName& m) {
  archive(m.version, m.node, m.host);
}

}  // namespace weft::server
