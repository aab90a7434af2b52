// SPDX-License-Identifier: BSD-3-Clause
#include "tools/cluster/nodes.hpp"

#include <utility>

namespace weft::cluster {

Nodes::Nodes(std::vector<std::string> hosts, std::optional<std::uint32_t> own, std::size_t spares,
             std::size_t room)
    : own_(own) {
  for (auto& host : hosts) nodes_.push_back({std::move(host)});
  spares += room;
  nodes_.resize(nodes_.size() + room);
  for (std::size_t i = nodes_.size() - spares; i < nodes_.size(); ++i) nodes_[i].state = NodeState::spare;
  counts_[static_cast<std::size_t>(NodeState::spare)] = spares;
  counts_[static_cast<std::size_t>(NodeState::starting)] = count();
}

bool Nodes::step(std::uint32_t number, NodeEvent event) {
  auto& node = nodes_[number];
  const auto before = std::exchange(node.state, node_step(node.state, event));
  node.has_reported |= node.state == NodeState::reported;
  --counts_[static_cast<std::size_t>(before)];
  ++counts_[static_cast<std::size_t>(node.state)];
  return node.state != before;
}

std::vector<std::uint32_t> Nodes::daemons() const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < size(); ++i)
    if (is_daemon(i)) out.push_back(i);
  return out;
}

std::vector<std::uint32_t> Nodes::reachable() const {
  std::vector<std::uint32_t> out;
  for (const auto number : daemons())
    if (has_reported(number) && !is_lost(number)) out.push_back(number);
  return out;
}

}  // namespace weft::cluster
