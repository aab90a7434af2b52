// SPDX-License-Identifier: BSD-3-Clause
#include "core/client/resolve.hpp"

#include <cstdlib>

#include "core/link/messages.hpp"

namespace weft::client {
namespace {

/// Null: the value is no text.
const char* text_in(const data::Value& value) {
  return value.get().type == PMIX_STRING ? value.get().data.string : nullptr;
}

}  // namespace

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
