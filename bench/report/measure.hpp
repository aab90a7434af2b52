// SPDX-License-Identifier: BSD-3-Clause
// One loop for every operation that a process repeats alone, so that floors and weftbench time alike.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

#include "bench/report/clock.hpp"
#include "bench/report/stats.hpp"

namespace weft::bench {

struct Budget {
  std::int64_t total_ns = 300'000'000;  ///< wall time; a sixth of it goes into single timings
  std::size_t max_batches = 1000;
  std::size_t max_singles = 2000;
};

/// Calls op() until the budget is spent, at least 3 times. A batch lasts about 20 us where op is short: long
/// against the clock, short against a time slice, so that most batches of an oversubscribed run are
/// undisturbed.
template <class Op>
Sample measure(Op&& op, const Budget& budget = {}) {
  constexpr std::int64_t batch_ns = 20'000;
  constexpr unsigned most_a_batch = 500;
  const std::int64_t begin = now_ns();
  op();  // the first call may map pages or fill caches
  unsigned warm_ops = 0;
  std::int64_t fastest = INT64_MAX;
  do {
    const std::int64_t t = now_ns();
    op();
    fastest = std::min(fastest, now_ns() - t);
  } while (++warm_ops < 200 && now_ns() - begin < budget.total_ns / 10);

  Sample out;
  out.batch = static_cast<unsigned>(
      std::clamp<std::int64_t>(batch_ns / std::max<std::int64_t>(fastest, 1), 1, most_a_batch));
  const std::int64_t singles_from = begin + budget.total_ns * 5 / 6;
  while (out.means.size() < 2 || (now_ns() < singles_from && out.means.size() < budget.max_batches)) {
    const std::int64_t t = now_ns();
    for (unsigned i = 0; i < out.batch; ++i) op();
    out.means.push_back(static_cast<double>(now_ns() - t) / out.batch);
  }
  if (out.batch == 1) return out;
  const std::int64_t end = begin + budget.total_ns;
  while (out.singles.empty() || (now_ns() < end && out.singles.size() < budget.max_singles)) {
    const std::int64_t t = now_ns();
    op();
    out.singles.push_back(static_cast<double>(now_ns() - t));
  }
  return out;
}

/// Batches of 100 until the budget is spent, at least 3 and at most `most_batches`: for operations that use
/// something up, here memory, so that they cannot run as often as measure() likes. No single timings.
template <class Op>
Sample measure_some(Op&& op, const Budget& budget, std::size_t most_batches = 50) {
  Sample out;
  out.batch = 100;
  const std::int64_t end = now_ns() + budget.total_ns;
  while (out.means.size() < 3 || (now_ns() < end && out.means.size() < most_batches)) {
    const std::int64_t t = now_ns();
    for (unsigned i = 0; i < out.batch; ++i) op();
    out.means.push_back(static_cast<double>(now_ns() - t) / out.batch);
  }
  return out;
}

/// Collective operations: every process must call op() equally often, so the caller fixes the number of
/// batches.
template <class Op>
Sample measure_fixed(Op&& op, std::size_t batches, unsigned batch) {
  Sample out;
  out.batch = batch;
  out.means.reserve(batches);
  out.singles.reserve(batches * batch);
  for (std::size_t b = 0; b < batches; ++b) {
    const std::int64_t first = now_ns();
    std::int64_t before = first;
    for (unsigned i = 0; i < batch; ++i) {
      op();
      const std::int64_t after = now_ns();
      out.singles.push_back(static_cast<double>(after - before));
      before = after;
    }
    out.means.push_back(static_cast<double>(before - first) / batch);
  }
  return out;
}

template <class Op>
double time_of(Op&& op) {
  const std::int64_t begin = now_ns();
  op();
  return static_cast<double>(now_ns() - begin);
}

/// After this long without work, daemons, processes and virtual processors have gone to sleep.
inline constexpr std::int64_t until_all_sleep_ns = 50'000'000;

inline void pause_for(std::int64_t ns) {
  const timespec some{ns / 1'000'000'000, ns % 1'000'000'000};
  nanosleep(&some, nullptr);
}

/// A batch of one after each pause: what an operation costs when all processes and processors that it needs
/// have gone to sleep. A processor that has been idle for long takes longer to wake than one that has just
/// fallen asleep.
template <class Op>
Sample measure_paused(Op&& op, std::size_t times, std::int64_t pause_ns) {
  Sample out;
  out.batch = 1;
  for (std::size_t i = 0; i < times; ++i) {
    pause_for(pause_ns);
    out.means.push_back(time_of(op));
  }
  return out;
}

}  // namespace weft::bench
