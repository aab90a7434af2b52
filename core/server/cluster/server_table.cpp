// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/cluster/server_table.hpp"

#include <fmt/format.h>

namespace weft::server {

void ServerTable::reset(NodeNumber self, NodeNumber count, NodeNumber first_nodes, std::uint64_t incarnation,
                        std::optional<NodeNumber> names_keeper) {
  self_ = self;
  first_nodes_ = first_nodes;
  names_keeper_ = names_keeper;
  incarnation_ = incarnation;
  entries_.assign(count, {});
  entries_[self].host = host_;
  entries_[self].machine = machine_;
}

std::string ServerTable::name_of(NodeNumber node) const {
  return node < count() && !entries_[node].host.empty() ? entries_[node].host : fmt::format("node {}", node);
}

bool ServerTable::is_there(NodeNumber node) const noexcept {
  return !is_hidden_ && node < count() && entries_[node].is_known && !entries_[node].is_lost &&
         !entries_[node].has_left;
}

std::vector<NodeNumber> ServerTable::others() const {
  std::vector<NodeNumber> out;
  for (NodeNumber node = 0; node < count(); ++node)
    if (node != self_ && is_there(node)) out.push_back(node);
  return out;
}

NodeNumber count_expected(const ServerTable& servers) noexcept {
  NodeNumber out = 0;
  for (NodeNumber node = 0; node < servers.count(); ++node)
    out += servers.is_expected(node) || node == servers.self() ? 1 : 0;
  return out;
}

}  // namespace weft::server
