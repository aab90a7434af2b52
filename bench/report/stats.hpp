// SPDX-License-Identifier: BSD-3-Clause
// Statistics of many timings.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::bench {

/// Timings of one operation. Short operations are timed in batches, because two clock readings cost as much
/// as the operation; the tail needs single timings, which therefore contain one clock reading (about 25 ns).
struct Sample {
  std::vector<double> means;    ///< one per batch: its time divided by its operations
  std::vector<double> singles;  ///< operations timed one by one; empty: the means serve (batch is 1)
  unsigned batch = 1;           ///< operations in a batch

  /// Adds another process's timings of the same operation.
  void merge(const Sample& other);
};

/// All in the unit of the samples. mad: median of the distances from the median.
struct Summary {
  double median = 0, mad = 0, min = 0, p99 = 0, max = 0;
  std::size_t runs = 0;
};

/// p99 is the nearest rank, so it is always a value that was seen. Empty input: zeros.
Summary summarize(std::vector<double> values);

/// At most `count` values spread evenly over the order statistics; smallest and largest are always among
/// them.
std::vector<double> thinned(std::vector<double> values, std::size_t count);

}  // namespace weft::bench
