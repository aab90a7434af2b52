// SPDX-License-Identifier: BSD-3-Clause
#include "tools/weftrun/plan/node_keys.hpp"

#include <fmt/format.h>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace weft::weftrun {

std::vector<job::NodeKey> node_keys_of(const Plan& plan) {
  std::vector<job::NodeKey> out;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const auto& [key, value] : plan.node_keys) {
    places.emplace(key, out.size());
    out.push_back({key, std::vector<std::string>(plan.nodes.size(), value)});
  }
  for (std::size_t node = 0; node < plan.nodes.size(); ++node)
    for (const auto& [key, value] : plan.nodes[node].keys) {
      const auto [at, is_new] = places.emplace(key, out.size());
      if (is_new) out.push_back({key, std::vector<std::string>(plan.nodes.size())});
      out[at->second].values[node] = value;
    }
  for (auto& key : out) key = job::node_key(std::move(key.key), std::move(key.values));
  return out;
}

void check_node_keys(const Plan& plan) {
  const auto bytes_of = [](const job::KeyValues& keys) {
    std::size_t bytes = 0;
    for (const auto& one : keys) bytes += one.key.size() + one.value.size();
    return bytes;
  };
  std::size_t bytes = bytes_of(plan.node_keys) * plan.all_nodes();
  for (std::size_t node = 0; node < plan.all_nodes(); ++node) bytes += bytes_of(plan.node(node).keys);
  if (bytes > job::NodeKey::most_bytes)
    refuse(fmt::format(
        "--node-data and data: in the hostfile: the keys of {} nodes have {} bytes, and can have {} in all; "
        "each node of a job keeps those of all",
        plan.all_nodes(), bytes, job::NodeKey::most_bytes));
}

}  // namespace weft::weftrun
