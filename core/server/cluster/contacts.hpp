// SPDX-License-Identifier: BSD-3-Clause
// Where the servers of a cluster are: the contact of this one, and those of the others, which the host
// brings.
// The server's loop.
#pragma once

#include <string>
#include <vector>

#include "core/server/cluster/server_table.hpp"

namespace weft::server {

class Contacts {
 public:
  Contacts(ServerTable& servers, mesh::Mesh& mesh, Views& views) noexcept
      : servers_(servers), mesh_(mesh), views_(views) {}

  /// Where this server is, for the others: number, host name, contact.
  std::vector<std::byte> own() const;
  /// A contact that own() made. Returns why it is refused, as a line for the user; empty: it is not. A node
  /// that speaks another version counts as lost.
  std::string add(Bytes contact);

 private:
  ServerTable& servers_;
  mesh::Mesh& mesh_;
  Views& views_;
};

}  // namespace weft::server
