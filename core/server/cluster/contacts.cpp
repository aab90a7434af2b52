// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/contacts.hpp"

#include <fmt/format.h>

#include "base/log_format.hpp"
#include "core/server/cluster/messages.hpp"

namespace weft::server {
namespace {

constexpr const char* other_version = "it speaks another version of what servers say to each other";

}  // namespace

std::vector<std::byte> Contacts::own() const {
  return base::encode(
      ServerContact{servers_.self(), servers_.host(), mesh_.contact(), servers_.machine_of(servers_.self())});
}

std::string Contacts::add(Bytes packed) {
  base::Reader in(packed);
  ServerName name;
  in(name);
  if (in.ok() && name.version != mesh::protocol_version) {
    if (name.node < servers_.count() && name.node != servers_.self() && !servers_.is_known(name.node)) {
      servers_.name(name.node, name.host);
      // What waits for that node, or will, ends with a status.
      static_cast<void>(mesh_.exclude(name.node, other_version));
    }
    return fmt::format(
        "the server on {} (node {}) speaks version {} of what servers say to each other, this one on {} "
        "version {}: start all "
        "servers of a cluster from one release of Weft",
        name.host, name.node, name.version, servers_.host(), mesh::protocol_version);
  }
  const auto refused = [](const char* why) {
    return fmt::format("a contact of another server is refused: {}", why);
  };
  const auto contact = base::decode<ServerContact>(packed);
  if (!contact) return refused("it was cut or changed on its way");
  if (contact->node == servers_.self()) return {};  // a list of all names us, too
  if (contact->node >= servers_.count()) return refused("no node of this cluster");
  if (const auto added = mesh_.add_peer(contact->node, contact->contact); !added)
    return refused(added.error().what);
  servers_.add(contact->node, contact->host, contact->machine);
  views_.node_is_back(contact->node);
  base::debug(base::LogPart::mesh, "server of node {} ({}) is known", contact->node, contact->host);
  return {};
}

}  // namespace weft::server
