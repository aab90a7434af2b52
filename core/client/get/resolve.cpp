// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/get/resolve.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <set>
#include <sstream>

#include "core/link/messages.hpp"

namespace weft::client {
namespace {

/// Null: the value is no text.
const char* text_in(const data::Value& value) {
  return value.get().type == PMIX_STRING ? value.get().data.string : nullptr;
}

std::set<std::string> nspaces_of(const Groups::Group& group) {
  std::set<std::string> out;
  for (const auto& run : group.members) out.insert(run.nspace);
  return out;
}

}  // namespace

pmix_status_t resolve_group_peers(const Groups::Group& group, std::string_view node, const PeersOf& peers_of,
                                  std::vector<pmix_proc_t>& out) {
  for (const auto& nspace : nspaces_of(group)) {
    std::vector<pmix_proc_t> peers;
    const auto status = peers_of(node, nspace, peers);
    if (status != PMIX_SUCCESS && status != PMIX_ERR_NOT_FOUND) return status;
    std::copy_if(peers.begin(), peers.end(), std::back_inserter(out),
                 [&](const pmix_proc_t& peer) { return link::holds(group.members, peer); });
  }
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

pmix_status_t resolve_group_nodes(const Groups::Group& group, const PeersOf& peers_of,
                                  const NodesOf& nodes_of, std::string& out) {
  std::set<std::string> names;
  for (const auto& nspace : nspaces_of(group)) {
    std::string nodes;
    if (const auto status = nodes_of(nspace, nodes); status != PMIX_SUCCESS) return status;
    std::istringstream list(nodes);
    for (std::string name; std::getline(list, name, ',');) {
      std::vector<pmix_proc_t> peers;
      if (resolve_group_peers(group, name, peers_of, peers) == PMIX_SUCCESS) names.insert(name);
    }
  }
  for (const auto& name : names) out += (out.empty() ? "" : ",") + name;
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

pmix_status_t resolve_peers_by(const Getter& get, std::string_view node, std::string_view nspace,
                               std::vector<pmix_proc_t>& out) {
  data::Infos where;
  where.add(PMIX_NODE_INFO, data::Value::of(true));
  if (!node.empty()) where.add(PMIX_HOSTNAME, data::Value::of(node));
  data::Value peers;
  const auto status = get(link::make_proc(nspace, PMIX_RANK_WILDCARD), PMIX_LOCAL_PEERS, where, peers);
  if (status != PMIX_SUCCESS) return status;
  const char* text = text_in(peers);
  for (char* end = nullptr; text != nullptr && *text != '\0'; text = *end == ',' ? end + 1 : nullptr) {
    const auto rank = std::strtoul(text, &end, 10);
    if (end == text) break;
    out.push_back(link::make_proc(nspace, static_cast<std::uint32_t>(rank)));
  }
  return out.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

pmix_status_t resolve_nodes_by(const Getter& get, std::string_view nspace, std::string& out) {
  data::Value names;
  const auto status = get(link::make_proc(nspace, PMIX_RANK_WILDCARD), PMIX_NODE_LIST, {}, names);
  if (status != PMIX_SUCCESS) return status;
  const char* text = text_in(names);
  if (text == nullptr) return PMIX_ERR_NOT_FOUND;
  out = text;
  return PMIX_SUCCESS;
}

}  // namespace weft::client
