// SPDX-License-Identifier: BSD-3-Clause
// Operations in which several ranks meet, in rounds: by the whole job, or by some of its ranks while the
// others wait.
#pragma once

#include <time.h>

#include <algorithm>
#include <optional>
#include <string>

#include "bench/weftbench/phases/phases.hpp"

namespace weft::bench {

inline constexpr unsigned rounds_a_batch = 10;

/// All ranks: rounds of op() for about the budget. Rank 0 chooses the number of rounds, since all must agree.
template <class Op>
void measure_rounds(const Context& c, const std::string& bench, Op&& op) {
  constexpr unsigned warm_rounds = 30;
  for (unsigned i = 0; i < warm_rounds; ++i) op();
  const std::int64_t begin = now_ns();
  for (unsigned i = 0; i < warm_rounds; ++i) op();
  const std::int64_t a_batch = std::max<std::int64_t>((now_ns() - begin) * rounds_a_batch / warm_rounds, 1);
  const auto wish = std::clamp<std::int64_t>(c.budget().total_ns / a_batch, 20, 4000);
  const std::uint64_t batches = c.job.from_root(static_cast<std::uint64_t>(wish));
  op();  // so that no rank still sleeps when the first batch begins
  const Sample seen = measure_fixed(op, batches, rounds_a_batch);
  c.job.barrier();
  c.print(make_record(bench, c.job.size(), 0, seen));
}

/// The ranks that are members run op(); the others wait for them in a fence of the whole job, and are given
/// the time to fall asleep.
template <class Op>
void measure_part(const Context& c, const std::string& bench, unsigned members, bool is_member, Op&& op) {
  constexpr unsigned batches = 100;
  constexpr timespec until_asleep{0, 50'000'000};
  // Long enough for the kernel to give two that wake on one core a core each.
  const unsigned warm_rounds = 50 + 200'000 / (members * members);
  std::optional<Sample> seen;
  c.job.barrier();
  if (is_member) {
    nanosleep(&until_asleep, nullptr);
    for (unsigned i = 0; i < warm_rounds; ++i) op();
    seen = measure_fixed(op, batches, rounds_a_batch);
  }
  c.job.barrier();
  if (c.job.is_root()) c.print(make_record(bench, members, 0, *seen));
}

}  // namespace weft::bench
