// SPDX-License-Identifier: BSD-3-Clause
// How many collectives of each signature have begun at this node: a message of a later generation has come
// early, and one of an earlier generation is late.
//
// G1  A signature that is kept has its count until it is released.
// G2  Of the others the most_others latest have theirs. The price of forgetting: what comes late for one is
//     taken for early, and the next that begins is the first again, here and perhaps not at other nodes. So
//     a caller releases a signature only when it begins no more of it but what is owed at that time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "collectives/message.hpp"

namespace weft::collectives {

class Generations {
 public:
  static constexpr std::size_t most_others = 1024;

  /// The generation that begins now. Cost: O(log n).
  Generation next(const Signature& signature);
  /// The one that was begun last here; 0: none, or it is forgotten.
  Generation begun(const Signature& signature) const;
  /// True: it was not kept before.
  bool keep(const Signature& signature);
  /// It is one of the others from here on, the latest.
  void release(const Signature& signature);
  std::size_t size() const noexcept { return counts_.size(); }

 private:
  struct Count {
    Generation begun = 0;
    std::uint64_t age = kept;
  };
  static constexpr std::uint64_t kept = 0;
  void be_latest(const Signature& signature, Count& count);

  std::map<Signature, Count> counts_;
  std::map<std::uint64_t, Signature> by_age_;  ///< of those that are not kept
  std::uint64_t last_age_ = kept;
};

}  // namespace weft::collectives
