// SPDX-License-Identifier: BSD-3-Clause
// Which ranks run where, for a process that cannot look into a segment: the server's lists, as text.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/client/group/groups.hpp"
#include "core/data/types/value.hpp"

namespace weft::client {

/// A Get about a process, by message.
using Getter = std::function<pmix_status_t(const pmix_proc_t& proc, std::string_view key,
                                           const data::Infos& directives, data::Value& found)>;
/// node empty: the server's.
pmix_status_t resolve_peers_by(const Getter& get, std::string_view node, std::string_view nspace,
                               std::vector<pmix_proc_t>& out);
pmix_status_t resolve_nodes_by(const Getter& get, std::string_view nspace, std::string& out);

/// The same of a group: its members on that node, and the nodes that have any. peers_of, nodes_of: of a
/// namespace.
using PeersOf = std::function<pmix_status_t(std::string_view node, std::string_view nspace,
                                            std::vector<pmix_proc_t>& out)>;
using NodesOf = std::function<pmix_status_t(std::string_view nspace, std::string& out)>;
pmix_status_t resolve_group_peers(const Groups::Group& group, std::string_view node, const PeersOf& peers_of,
                                  std::vector<pmix_proc_t>& out);
pmix_status_t resolve_group_nodes(const Groups::Group& group, const PeersOf& peers_of,
                                  const NodesOf& nodes_of, std::string& out);

}  // namespace weft::client
