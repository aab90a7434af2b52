// SPDX-License-Identifier: BSD-3-Clause
// What the servers say to each other of an attempt of an operation that one of them has seen fail with a lost node.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "core/server/fences/exchange.hpp"

namespace weft::server {

/// How has it ended at the receiver? If it is under way there, it ends with the loss of these nodes.
struct AttemptInquiry {
  static constexpr std::uint16_t wire_version = 1;
  FenceName attempt;
  FenceName first;  ///< of the same operation, before nodes were lost that this one is without
  std::vector<NodeNumber> lost;
};
template <class Archive>
void fields(Archive& archive, AttemptInquiry& m) {
  archive(m.attempt, m.first, m.lost);
}

/// How the latest attempts have ended here: another node may have seen them fail.
class RecentEnds {
 public:
  struct End {
    pmix_status_t status;
    std::vector<std::byte> made;  ///< of a construct that has ended well: a MadeGroup
  };
  static constexpr std::size_t most = 256;

  void add(const Exchanges::Key& attempt, End end) {
    if (ends_.size() == most) ends_.pop_front();
    ends_.emplace_back(attempt, std::move(end));
  }
  /// Null: it is none of them.
  const End* find(const Exchanges::Key& attempt) const {
    const auto found =
        std::find_if(ends_.begin(), ends_.end(), [&](const auto& each) { return each.first == attempt; });
    return found == ends_.end() ? nullptr : &found->second;
  }

 private:
  std::deque<std::pair<Exchanges::Key, End>> ends_;
};

}  // namespace weft::server
