// SPDX-License-Identifier: BSD-3-Clause
// The server's part in the mesh of nodes.
#include <asio/post.hpp>
#include <cstdio>

#include "core/server/server.hpp"
#include "core/server/session.hpp"

namespace weft::server {

void Server::open_fabric(mesh::JobKey key, mesh::Life self, mesh::NodeNumber nodes, FabricOpened done) {
  run_later([this, key, self, nodes, done = std::move(done)] {
    if (fabric_) return done(fabric_.get(), {});
    node_reports_.host = host_;
    auto opened = Fabric::open(loop_, key, self, nodes, node_reports_,
                               Fabric::options_here(static_cast<unsigned>(sessions_.size())));
    fabric_ = std::move(opened.fabric);
    done(fabric_.get(), opened.note);
  });
}

void Server::NodeReports::node_lost(mesh::NodeNumber node, const char* why) noexcept {
  std::fprintf(stderr, "weft: [%s] node %u is lost: %s\n", host.c_str(), node, why);
}

void Server::NodeReports::message_refused(mesh::NodeNumber sender, mesh::Refusal why) noexcept {
  std::fprintf(
      stderr,
      "weft: [%s] dropped a message that calls itself one of node %u: %s; more of them are counted only\n",
      host.c_str(), sender, mesh::to_text(why));
}

}  // namespace weft::server
