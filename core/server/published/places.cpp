// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/published/places.hpp"

#include <xxhash.h>

namespace weft::server {

NodeNumber Places::home_of(std::string_view key) const {
  if (const auto only = servers_.names_keeper()) return *only;
  return static_cast<NodeNumber>(XXH3_64bits(key.data(), key.size()) % servers_.first_nodes());
}

NodeNumber Places::keeper_of(NodeNumber home) const {
  if (const auto only = servers_.names_keeper()) return *only;
  const auto count = servers_.first_nodes();
  const auto followed = followed_.find(home);
  auto node = (followed == followed_.end() ? home : followed->second) % count;
  for (NodeNumber i = 0; i < count && is_gone(node); ++i) node = (node + 1) % count;
  return node;
}

bool Places::has_keeper(NodeNumber home) const {
  const auto keeper = keeper_of(home);
  const auto followed = followed_.find(home);
  return keeper == home || (followed != followed_.end() && followed->second == keeper);
}

void Places::follow(NodeNumber home, NodeNumber keeper) {
  if (servers_.names_keeper() || !is_node(home) || !is_node(keeper) || keeper == home) return;
  const auto [at, is_new] = followed_.try_emplace(home, keeper);
  if (!is_new && distance(home, keeper) > distance(home, at->second)) at->second = keeper;
}

}  // namespace weft::server
