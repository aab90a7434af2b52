// SPDX-License-Identifier: BSD-3-Clause
// The tree down which orders for all nodes of a job go, and up which their reports come: the launcher is its
// root, whether the job has ranks there or not; the job's other nodes, and those that are only to know of it,
// follow in the order of their numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace weft::channel {

class LaunchTree {
 public:
  /// Eight: ten thousand nodes are five levels, and a server's first sends to its children overlap.
  static constexpr std::size_t arity = 8;

  /// nodes: of the job, ascending. witnesses: others that are to know it.
  LaunchTree(std::vector<std::uint32_t> nodes, std::uint32_t launcher,
             const std::vector<std::uint32_t>& witnesses = {})
      : nodes_(std::move(nodes)), launcher_(launcher) {
    nodes_.insert(nodes_.end(), witnesses.begin(), witnesses.end());
    std::sort(nodes_.begin(), nodes_.end());
    nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
    std::erase(nodes_, launcher);
  }

  /// The nodes that `self` passes the message on to.
  std::vector<std::uint32_t> children_of(std::uint32_t self) const {
    std::vector<std::uint32_t> out;
    const auto position = position_of(self);
    if (!position) return out;
    const auto first = *position * arity, last = std::min(first + arity, nodes_.size());
    for (auto at = first; at < last; ++at) out.push_back(nodes_[at]);
    return out;
  }

  /// The node that passes the message on to `self`; nothing: the message does not come there.
  std::optional<std::uint32_t> parent_of(std::uint32_t self) const {
    const auto position = position_of(self);
    if (!position || *position == 0) return std::nullopt;
    const auto parent = (*position - 1) / arity;
    return parent == 0 ? launcher_ : nodes_[parent - 1];
  }

  /// The message comes to `below` by way of `above`. Cost: the levels of the tree.
  bool is_above(std::uint32_t above, std::uint32_t below) const {
    const auto top = position_of(above), bottom = position_of(below);
    if (!top || !bottom) return false;
    auto at = *bottom;
    while (at > *top) {
      at = (at - 1) / arity;
      if (at == *top) return true;
    }
    return false;
  }

  /// The nodes that the message comes to by the tree, ascending.
  const std::vector<std::uint32_t>& receivers() const noexcept { return nodes_; }

 private:
  /// The launcher's is 0.
  std::optional<std::size_t> position_of(std::uint32_t self) const {
    if (self == launcher_) return 0;
    const auto at = std::lower_bound(nodes_.begin(), nodes_.end(), self);
    if (at == nodes_.end() || *at != self) return std::nullopt;
    return static_cast<std::size_t>(at - nodes_.begin()) + 1;
  }

  std::vector<std::uint32_t> nodes_;
  std::uint32_t launcher_;
};

}  // namespace weft::channel
