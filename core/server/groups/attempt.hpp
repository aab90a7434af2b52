// SPDX-License-Identifier: BSD-3-Clause
// What the servers say to each other of an attempt of an operation that one of them has seen fail with a lost node.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "core/server/fences/exchange.hpp"

namespace weft::server {

/// Has it ended well at the receiver? If it is under way there, it ends with the loss of these nodes.
struct AttemptInquiry {
  static constexpr std::uint16_t wire_version = 1;
  FenceName attempt;
  std::vector<NodeNumber> lost;
};
template <class Archive>
void fields(Archive& archive, AttemptInquiry& m) {
  archive(m.attempt, m.lost);
}

/// The latest attempts that have ended well here, with what they have made: another node may have seen them fail.
class RecentEnds {
 public:
  using Bytes = std::vector<std::byte>;
  static constexpr std::size_t most = 256;

  void add(const Exchanges::Key& attempt, Bytes made) {
    if (ends_.size() == most) ends_.pop_front();
    ends_.emplace_back(attempt, std::move(made));
  }
  /// Null: it is none of them.
  const Bytes* find(const Exchanges::Key& attempt) const {
    const auto found =
        std::find_if(ends_.begin(), ends_.end(), [&](const auto& each) { return each.first == attempt; });
    return found == ends_.end() ? nullptr : &found->second;
  }

 private:
  std::deque<std::pair<Exchanges::Key, Bytes>> ends_;
};

}  // namespace weft::server
