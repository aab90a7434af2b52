// SPDX-License-Identifier: BSD-3-Clause
// Which server keeps a key. Its hash names a node, the key's home; the keeper is the server of the home, or,
// where that one is lost or has left, of the next node behind it that is there. Nodes that came later keep
// nothing: servers hear of them at different times, and would look for a name at different homes.
//
// A run whose names another run keeps has one keeper: the server that speaks to the other one.
//
// Servers hear of a loss at different times. The first that sends to the next server says by that what it
// knows (follow()): a keeper is never an earlier server again.
#pragma once

#include <map>
#include <string_view>

#include "core/server/cluster/server_table.hpp"

namespace weft::server {

class Places {
 public:
  explicit Places(const ServerTable& servers) noexcept : servers_(servers) {}

  NodeNumber self() const noexcept { return servers_.self(); }
  NodeNumber home_of(std::string_view key) const;
  NodeNumber keeper_of(NodeNumber home) const;
  /// Its server is there; or the next one has asked for what was published, so that it keeps these keys now.
  bool has_keeper(NodeNumber home) const;
  /// Another server says that this one keeps these keys.
  void follow(NodeNumber home, NodeNumber keeper);
  /// It is lost, or has left.
  bool is_gone(NodeNumber node) const {
    return node != self() && (servers_.is_lost(node) || servers_.has_left(node));
  }
  bool is_node(NodeNumber node) const noexcept { return node < servers_.first_nodes(); }
  std::vector<NodeNumber> others() const { return servers_.others(); }

 private:
  NodeNumber distance(NodeNumber home, NodeNumber keeper) const noexcept {
    return (keeper + servers_.first_nodes() - home) % servers_.first_nodes();
  }

  const ServerTable& servers_;
  std::map<NodeNumber, NodeNumber> followed_;  ///< by home: the first that may be the keeper
};

}  // namespace weft::server
