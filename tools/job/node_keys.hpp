// SPDX-License-Identifier: BSD-3-Clause
// Keys of nodes: what a user or a daemon says of a node, and processes read with PMIX_NODE_INFO.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::job {

/// A key of one node, or of all, with its value.
struct KeyValue {
  std::string key, value;
  bool operator==(const KeyValue&) const = default;
};
using KeyValues = std::vector<KeyValue>;
template <class Archive>
void fields(Archive& archive, KeyValue& one) {
  archive(one.key);
  archive(one.value);
}

/// A key of the nodes of a job, with the value that each node has.
struct NodeKey {
  static constexpr std::size_t longest_key = 511;       ///< bytes: PMIX_MAX_KEYLEN
  static constexpr std::size_t longest_value = 4096;    ///< bytes
  static constexpr std::size_t most_bytes = 4U << 20U;  ///< of all keys and values, counted for each node
  /// The network addresses of a node's machine, with commas between: what daemons say.
  static constexpr const char* address = "weft.address";

  std::string key;
  /// By node number, or a single one: of all nodes. Empty: the node has none.
  std::vector<std::string> values;

  /// Empty: the node has none.
  std::string_view value_of(std::uint32_t node) const noexcept {
    if (values.size() == 1) return values.front();
    return node < values.size() ? std::string_view(values[node]) : std::string_view();
  }
};

/// values: by node number.
inline NodeKey node_key(std::string key, std::vector<std::string> values) {
  const bool are_same =
      std::all_of(values.begin(), values.end(), [&](const auto& value) { return value == values.front(); });
  if (are_same && !values.empty()) values.resize(1);
  return {std::move(key), std::move(values)};
}

}  // namespace weft::job
