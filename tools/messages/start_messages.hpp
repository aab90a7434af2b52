// SPDX-License-Identifier: BSD-3-Clause
// The account of a start (weftrun --report launch): how long each of its phases took, for people and for
// programs. Pure functions (docs/scale/account.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::messages {

/// Of weftrun itself, or of nodes, each by its own clock. A phase that has neither did not come about.
struct StartPhase {
  struct OnNode {
    std::string host;
    std::uint64_t microseconds = 0;
  };
  std::string name;
  std::optional<std::uint64_t> own{};    ///< microseconds
  std::vector<OnNode> nodes{};           ///< those that have come through it
  std::optional<std::uint64_t> bytes{};  ///< that were sent in it, of all nodes
  std::uint32_t of = 0;                  ///< nodes that have it at all
};

struct StartAccount {
  std::string nspace;
  std::uint32_t ranks = 0, nodes = 0;
  std::vector<StartPhase> phases;  ///< in their order
  /// Microseconds until all ranks ran. Nothing: they never did.
  std::optional<std::uint64_t> running_after{};
  std::vector<std::string> silent{};  ///< hosts that have not told anything
};

/// Microseconds; the lower of the two in the middle. REQUIRES: there is a node.
std::uint64_t median(const StartPhase& phase);
/// At most so many, the slowest first; among equals in the order of the nodes.
std::vector<StartPhase::OnNode> slowest(const StartPhase& phase, std::size_t most);

/// Lines without their ends.
std::vector<std::string> start_lines(const StartAccount& account);
/// One JSON document as a line, without its end.
std::string start_json(const StartAccount& account);

}  // namespace weft::messages
