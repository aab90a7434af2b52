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

/// How an attempt has ended here: another node may have seen it fail.
struct AttemptEnd {
  pmix_status_t status;
  std::vector<std::byte> made;  ///< of a construct that has ended well: a MadeGroup
};

/// What is known of the latest attempts.
template <class What>
class RecentAttempts {
 public:
  static constexpr std::size_t most = 256;

  void add(const Exchanges::Key& attempt, What what) {
    if (known_.size() == most) known_.pop_front();
    known_.emplace_back(attempt, std::move(what));
  }
  /// Null: it is none of them.
  const What* find(const Exchanges::Key& attempt) const {
    const auto found =
        std::find_if(known_.begin(), known_.end(), [&](const auto& each) { return each.first == attempt; });
    return found == known_.end() ? nullptr : &found->second;
  }

 private:
  std::deque<std::pair<Exchanges::Key, What>> known_;
};

}  // namespace weft::server
