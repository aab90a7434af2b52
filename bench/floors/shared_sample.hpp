// SPDX-License-Identifier: BSD-3-Clause
// Timings that a child process leaves for its parent, in memory that both share.
#pragma once

#include <algorithm>
#include <cstddef>

#include "bench/report/stats.hpp"

namespace weft::bench {

struct SharedSample {
  static constexpr unsigned batch = 10;  ///< operations in a batch
  static constexpr std::size_t most_batches = 4000;

  /// The maximum number of batches.
  void store(const Sample& seen) {
    used = seen.means.size();
    used_singles = seen.singles.size();
    used_batch = seen.batch;
    std::copy(seen.means.begin(), seen.means.end(), means);
    std::copy(seen.singles.begin(), seen.singles.end(), singles);
  }
  Sample load() const { return {{means, means + used}, {singles, singles + used_singles}, used_batch}; }

  std::size_t used, used_singles;
  unsigned used_batch;
  double means[most_batches];
  double singles[most_batches * batch];
};

}  // namespace weft::bench
