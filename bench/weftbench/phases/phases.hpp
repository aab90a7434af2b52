// SPDX-License-Identifier: BSD-3-Clause
// The phases of weftbench. All ranks enter a phase together and leave it together; rank 0 prints.
#pragma once

#include <span>
#include <string>

#include "bench/report/measure.hpp"
#include "bench/report/record.hpp"
#include "bench/weftbench/job.hpp"
#include "bench/weftbench/options.hpp"
#include "bench/weftbench/process.hpp"

namespace weft::bench {

/// Figures to be taken before the first PMIx call, or right after it.
struct Start {
  std::int64_t entered_main = 0, joined = 0;  ///< CLOCK_MONOTONIC, ns
  std::optional<Footprint> before, after;     ///< around PMIx_Init
};

struct Context {
  Job& job;
  const Options& options;
  const Start& start;
  Reporter& reporter;

  Budget budget() const {
    Budget out;
    out.total_ns = std::int64_t{options.budget_ms} * 1'000'000;
    return out;
  }
  /// Rank 0 prints; records of other ranks are dropped.
  void print(const Record& record) const {
    if (job.is_root()) reporter.print(record);
  }
  /// All ranks: prints their timings of one operation as one record. The median is over all ranks' batches; a
  /// rank may have none.
  void print_pooled(const std::string& bench, std::size_t bytes, const Sample& mine) const;
  /// All ranks: prints one number of each rank, in `unit`; runs = ranks, max = the slowest or largest.
  void print_per_rank(const std::string& bench, const std::string& unit, double mine) const;
  /// All ranks: `mine` has a time for each repeat. Prints the slowest rank of each repeat, since a job
  /// continues when the last rank does. Repeat 0 is cold and reported separately, as first_ns.
  void print_slowest(const std::string& bench, std::size_t bytes, const std::vector<double>& mine) const;
  /// Rank 0 reports why something is not in the output.
  void skip(const std::string& bench, const std::string& why) const {
    if (job.is_root()) Reporter::skipped(bench, why);
  }
};

/// times[rank][repeat]: of each repeat the slowest rank. Ranks that have fewer repeats were not there in the
/// others.
std::vector<double> slowest_of(const std::vector<std::vector<double>>& times);

/// Lets the other ranks fall asleep in their fence, so that "alone" means alone. Not a correctness wait.
void let_others_sleep();

struct Phase {
  const char* name;
  const char* about;
  void (*run)(const Context&);
};
/// In the order in which they run; the last one ends the job.
std::span<const Phase> phases();

void init_phase(const Context&);
void launch_phase(const Context&);
void memory_phase(const Context&);
void get_phase(const Context&);
void put_phase(const Context&);
void barrier_phase(const Context&);
void half_fence_phase(const Context&);
void part_fence_phase(const Context&);
void full_fence_phase(const Context&);
void lone_full_fence_phase(const Context&);
void sparse_fence_phase(const Context&);
void overlapping_fences_phase(const Context&);
void repeated_fence_phase(const Context&);
void card_memory_phase(const Context&);
void remote_get_phase(const Context&);
void first_touch_phase(const Context&);
void group_phase(const Context&);
void connect_phase(const Context&);
void event_phase(const Context&);
void name_phase(const Context&);
void finalize_phase(const Context&);

}  // namespace weft::bench
