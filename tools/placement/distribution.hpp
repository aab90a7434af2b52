// SPDX-License-Identifier: BSD-3-Clause
// Which rank is on which node: as O(nodes) bytes to send (Distribution), and as a table to look things up
// (RankTable).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/job/rank.hpp"

namespace weft::placement {

enum class RankBy { slot, node, listed };

/// Node i has counts[i] ranks of each app; ranks are numbered through the apps in their order. Within an app
/// they are numbered beginning with node `first_node` and going round all nodes: by slot, all ranks of a
/// node, then those of the next; by node, one rank of each node that has one left, then again. `listed`: each
/// rank's node is in a list, from a rank file.
struct Distribution {
  struct AppShare {
    RankBy order = RankBy::slot;
    std::uint32_t first_node = 0;
    std::vector<std::uint32_t> counts;    ///< one number a node
    std::vector<std::uint32_t> listed{};  ///< with RankBy::listed: the node of each rank of the app
    bool operator==(const AppShare&) const = default;
  };
  std::vector<AppShare> apps;
  std::uint32_t nodes = 0;
  bool operator==(const Distribution&) const = default;

  std::uint32_t size() const noexcept;  ///< ranks of the job
  /// The nodes that have ranks, ascending. O(nodes x apps).
  std::vector<std::uint32_t> nodes_with_ranks() const;
};

/// Text such as "3;slot@0:2x4,1x2;node@1:3x1;list:2x0,1x2": nodes, then for each app runs of nodes with
/// equally many ranks, or of ranks on the same node.
std::string encode(const Distribution& distribution);

/// Throws Stop (own_failure) if the text is no distribution, or has more nodes or ranks than these.
Distribution decode_distribution(std::string_view text, std::uint32_t most_nodes, std::uint32_t most_ranks);

/// Eight bytes a rank; every look-up but local_rank_of and app_of takes constant time.
class RankTable {
 public:
  explicit RankTable(const Distribution& distribution);

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(node_of_.size()); }
  std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(begin_.size() - 1); }
  std::uint32_t node_of(job::Rank rank) const noexcept { return node_of_[index(rank)]; }
  /// Ascending. None of a node that the job does not know.
  std::span<const job::Rank> ranks_on(std::uint32_t node) const noexcept {
    if (node >= nodes()) return {};
    return std::span(ranks_).subspan(begin_[node], begin_[node + 1] - begin_[node]);
  }
  /// Binding in ranks_on() of its node. O(log of the ranks there).
  std::uint32_t local_rank_of(job::Rank rank) const noexcept;
  std::uint32_t app_of(job::Rank rank) const noexcept;  ///< O(log apps)
  job::Rank first_rank_of(std::uint32_t app) const noexcept { return job::Rank{app_begin_[app]}; }

 private:
  std::vector<std::uint32_t> node_of_;    // one node a rank
  std::vector<job::Rank> ranks_;          // node by node
  std::vector<std::uint32_t> begin_;      // of each node in ranks_, and the end
  std::vector<std::uint32_t> app_begin_;  // first rank of each app, and the end
};

}  // namespace weft::placement
