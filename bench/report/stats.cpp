// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/stats.hpp"

#include <algorithm>
#include <cmath>

namespace weft::bench {
namespace {

double middle_of(const std::vector<double>& sorted) {
  const std::size_t n = sorted.size();
  return n % 2 == 1 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

}  // namespace

void Sample::merge(const Sample& other) {
  means.insert(means.end(), other.means.begin(), other.means.end());
  singles.insert(singles.end(), other.singles.begin(), other.singles.end());
  batch = std::max(batch, other.batch);
}

Summary summarize(std::vector<double> values) {
  Summary out;
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  out.runs = values.size();
  out.min = values.front();
  out.max = values.back();
  out.median = middle_of(values);
  const auto nearest_rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(values.size())));
  out.p99 = values[nearest_rank - 1];
  for (double& v : values) v = std::fabs(v - out.median);
  std::sort(values.begin(), values.end());
  out.mad = middle_of(values);
  return out;
}

std::vector<double> thinned(std::vector<double> values, std::size_t count) {
  if (values.size() <= count || count < 2) return values;
  std::sort(values.begin(), values.end());
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = values[i * (values.size() - 1) / (count - 1)];
  return out;
}

}  // namespace weft::bench
