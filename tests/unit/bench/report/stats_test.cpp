// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/stats.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "bench/report/measure.hpp"

namespace weft::bench {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.rbegin(), out.rend(), 1.0);  // descending: nothing may rely on order
  return out;
}

TEST(Summarize, median_of_odd_and_even_counts) {
  EXPECT_EQ(summarize({3, 1, 2}).median, 2);
  EXPECT_EQ(summarize({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(summarize({7}).median, 7);
}

TEST(Summarize, mad_is_the_median_distance_and_ignores_one_outlier) {
  const Summary s = summarize({10, 11, 12, 13, 1000});
  EXPECT_EQ(s.median, 12);
  EXPECT_EQ(s.mad, 1);  // distances 2 1 0 1 988
}

TEST(Summarize, p99_is_a_value_that_was_seen) {
  EXPECT_EQ(summarize(one_to(100)).p99, 99);
  EXPECT_EQ(summarize(one_to(1000)).p99, 990);
  EXPECT_EQ(summarize(one_to(10)).p99, 10);  // fewer than 100: the largest
}

TEST(Summarize, ends_and_count) {
  const Summary s = summarize(one_to(100));
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 100);
  EXPECT_EQ(s.runs, 100u);
  EXPECT_EQ(summarize({}).runs, 0u);
}

TEST(Thinned, keeps_ends_and_quantiles) {
  const std::vector<double> some = thinned(one_to(1001), 11);
  EXPECT_EQ(some, (std::vector<double>{1, 101, 201, 301, 401, 501, 601, 701, 801, 901, 1001}));
  EXPECT_EQ(thinned({5, 4}, 11), (std::vector<double>{5, 4})) << "few values stay as they are";
}

TEST(Measure, calls_at_least_thrice_however_small_the_budget) {
  int calls = 0;
  Budget none;
  none.total_ns = 1;
  const Sample s = measure([&] { ++calls; }, none);
  EXPECT_GE(calls, 3);
  EXPECT_GE(s.means.size(), 2u);
}

TEST(Measure, fixed_rounds_are_exact) {
  int calls = 0;
  const Sample s = measure_fixed([&] { ++calls; }, 7, 3);
  EXPECT_EQ(calls, 21);  // a collective called once more by one process would hang the others
  EXPECT_EQ(s.means.size(), 7u);
  EXPECT_EQ(s.singles.size(), 21u);
}

TEST(Sample, merge_pools_timings) {
  Sample a{{1, 2}, {3}, 4};
  a.merge({{5}, {6, 7}, 8});
  EXPECT_EQ(a.means, (std::vector<double>{1, 2, 5}));
  EXPECT_EQ(a.singles, (std::vector<double>{3, 6, 7}));
  EXPECT_EQ(a.batch, 8u);
}

}  // namespace
}  // namespace weft::bench
