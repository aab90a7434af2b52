// SPDX-License-Identifier: BSD-3-Clause
// How the servers of a job's nodes become a cluster, in launch information. docs/design/launch.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.hpp"
#include "pmix_common.h"
#include "transport/mesh/envelope.hpp"
#include "weft/result.hpp"

namespace weft::server {

using mesh::NodeNumber;

struct FabricPlan {
  std::string node_map;             ///< as data::encode_node_map; a node's number is its place there
  std::vector<NodeNumber> members;  ///< nodes with ranks, ascending; two at least
  std::array<std::uint8_t, mesh::JobKey::bytes> key{};
  std::string transport;
  std::vector<std::byte> introducer;  ///< its contact

  /// PMIX_SETUP_APP_NONENVARS or _ALL is among the directives.
  static bool is_wanted(const pmix_info_t* infos, std::size_t count);
  /// The nodes and members of a launch, by PMIX_NODE_MAP and PMIX_PROC_MAP; without a process map all nodes
  /// have ranks. Nothing: it is not wanted, there is no node map, or fewer than two nodes with ranks. Errors:
  /// invalid (a map that cannot be read, or the two do not fit).
  static Result<std::optional<FabricPlan>> wanted_by(const pmix_info_t* infos, std::size_t count);
  /// The names of all nodes. Errors: those of parse_node_map.
  Result<std::vector<std::string>> nodes() const;
  bool has_member(NodeNumber node) const noexcept;
};
template <class Archive>
void fields(Archive& archive, FabricPlan& m) {
  archive(m.node_map, m.members, m.key, m.transport, m.introducer);
}
/// The node map can be read, and has all members.
bool is_valid(const FabricPlan& plan);

}  // namespace weft::server
