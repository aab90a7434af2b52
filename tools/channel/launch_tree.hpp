// SPDX-License-Identifier: BSD-3-Clause
// The tree down which a launch message goes: the launcher is its root, the daemons follow in the order of
// their numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace weft::channel {

/// Eight: ten thousand nodes are five levels, and a server's first sends to its children overlap.
inline constexpr std::uint32_t tree_arity = 8;

/// The servers that `self` passes the message on to.
///   servers   their count: numbers 0 to servers-1, the launcher's among them
inline std::vector<std::uint32_t> children_of(std::uint32_t self, std::uint32_t servers,
                                              std::uint32_t launcher) {
  // The launcher has position 0, the others close up behind it.
  const std::uint64_t position = self == launcher ? 0 : self < launcher ? self + 1ULL : self;
  std::vector<std::uint32_t> children;
  for (std::uint64_t child = position * tree_arity + 1;
       child <= position * tree_arity + tree_arity && child < servers; ++child) {
    children.push_back(static_cast<std::uint32_t>(child <= launcher ? child - 1 : child));
  }
  return children;
}

/// The server that passes the message on to `self`, which is not the launcher.
inline std::uint32_t parent_of(std::uint32_t self, std::uint32_t launcher) {
  const std::uint64_t position = self < launcher ? self + 1ULL : self;
  const std::uint64_t parent = (position - 1) / tree_arity;
  return static_cast<std::uint32_t>(parent == 0 ? launcher : parent <= launcher ? parent - 1 : parent);
}

}  // namespace weft::channel
