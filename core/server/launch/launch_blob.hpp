// SPDX-License-Identifier: BSD-3-Clause
// The bytes of launch information: what a launcher's server packs for the nodes of a job. It travels by roads
// that are not known here (a launch message, a file, a variable), so it says of which namespace it is and
// ends in a checksum: bytes that are cut, changed, of another version or of another namespace are refused
// whole. docs/design/nodes.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "collectives/cost.hpp"
#include "core/server/launch/envars.hpp"
#include "core/server/launch/fabric_plan.hpp"
#include "transport/mesh/version.hpp"

namespace weft::server {

struct LaunchBlob {
  static constexpr std::uint16_t wire_version = mesh::protocol_version;
  std::string nspace;
  Envars envars;
  std::optional<FabricPlan> fabric{};  ///< nothing: the servers of the nodes are not introduced to each other
  /// Of the servers of a cluster that the host made: each takes in those of the others.
  std::vector<std::vector<std::byte>> contacts{};
  /// Of messages between these servers: the numbers that all of them choose algorithms by.
  std::optional<collectives::Costs> costs{};
};
template <class Archive>
void fields(Archive& archive, LaunchBlob& m) {
  archive(m.nspace, m.envars, m.fabric, m.contacts, m.costs);
}

std::vector<std::byte> encode_launch(const LaunchBlob& blob);
/// Errors: corrupt, and `what` says in which way.
Result<LaunchBlob> decode_launch(Bytes bytes);

/// `content` with the checksum that decode_launch() asks for.
std::vector<std::byte> seal_launch(Bytes content);

}  // namespace weft::server
