// SPDX-License-Identifier: BSD-3-Clause
// Two series of runs, compared: the ratio of each operation's times, and whether it is more than noise.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/report/json_lines.hpp"

namespace weft::bench {

/// second / first, with the interval in which 95 % of its resamples lie.
struct Ratio {
  double middle = 0, low = 0, high = 0;
  bool has_interval = false;  ///< there were at least fewest_runs
  bool may_be_noise() const noexcept { return low <= 1 && 1 <= high; }
};

/// The median of five values lies outside of all of them too often (2 / 2^5) for an interval of 95 %.
inline constexpr std::size_t fewest_runs = 6;

/// As many values on both sides are pairs, of runs that were made in turn: the median of their ratios, whose
/// bootstrap takes pairs, so that what slows the machine for a while slows both and does not count. Other
/// numbers of values give the ratio of the two medians, and the bootstrap takes from each side for itself.
/// The same values give the same interval. Nothing: no value on a side, or a first one that is not positive.
std::optional<Ratio> ratio_of(const std::vector<double>& first, const std::vector<double>& second);

/// A table for people: each operation that both have, then what only one of them has. `names`: of the two
/// files.
void print_comparison(std::FILE* out, const Measurements& first, const Measurements& second,
                      const std::pair<std::string, std::string>& names);

}  // namespace weft::bench
