// SPDX-License-Identifier: BSD-3-Clause
#include "bench/weftbench/phases/phases.hpp"

#include <time.h>

#include <algorithm>

namespace weft::bench {
namespace {

constexpr Phase all_phases[] = {
    {"init", "PMIx_Init of each rank; max is the slowest", init_phase},
    {"launch", "from the launcher's start (--t0) to main() and to the end of PMIx_Init", launch_phase},
    {"memory", "what PMIx_Init adds to a client, and the server's memory and descriptors", memory_phase},
    {"get", "PMIx_Get of own, job-level, peer's and missing keys: rank 0 alone, all at once", get_phase},
    {"put", "PMIx_Put and PMIx_Commit of 1 and 16 keys of 256 B: rank 0 alone, all at once", put_phase},
    {"barrier", "PMIx_Fence of the whole job without data", barrier_phase},
    {"half_fence", "both halves of the job fence among themselves, at the same time", half_fence_phase},
    {"part_fence", "two ranks fence, then every second one, while the others wait in a fence of all",
     part_fence_phase},
    {"full_fence", "PMIx_Fence with PMIX_COLLECT_DATA and reading every card; the slowest rank",
     full_fence_phase},
    {"lone_full_fence", "the same without reading: what the fence alone takes the slowest rank",
     lone_full_fence_phase},
    {"sparse_fence", "PMIx_Fence without data after a commit; the slowest rank", sparse_fence_phase},
    {"overlapping_fences", "two fences that share a third of the ranks, open at once",
     overlapping_fences_phase},
    {"repeated_fence",
     "20 full fences with a new commit each, then 20 with nothing new: the first ones, the last ones",
     repeated_fence_phase},
    {"remote_get", "PMIx_Get of other nodes' cards after a full fence: rank 0 alone, all at once",
     remote_get_phase},
    {"first_touch",
     "PMIx_Get of other nodes' cards after a fence without data: alone, one rank a node, all at once",
     first_touch_phase},
    {"card_memory", "what 20 full fences with new cards add to each node's server, a card",
     card_memory_phase},
    {"group", "groups of all ranks, of two, 16 at once: construct and destruct; beside them two full fences",
     group_phase},
    {"connect", "PMIx_Connect and PMIx_Disconnect of all ranks", connect_phase},
    {"event", "an event of rank 0 to each rank's handler; many in a row", event_phase},
    {"names", "PMIx_Publish and PMIx_Lookup of 1 KiB: rank 0 alone; a lookup that waits", name_phase},
    {"finalize", "PMIx_Finalize of each rank; max is the slowest; ends the job", finalize_phase},
};

// Enough for a p99 of the pooled values, little enough not to burden the store that is being measured.
constexpr std::size_t points = 100;

std::vector<double> packed(const Sample& s) {
  const auto means = thinned(s.means, points), singles = thinned(s.singles, points);
  if (means.empty()) return {0};
  const auto [least, most] = std::minmax_element(s.means.begin(), s.means.end());
  std::vector<double> out{static_cast<double>(s.batch), *least, *most, static_cast<double>(means.size())};
  out.insert(out.end(), means.begin(), means.end());
  out.insert(out.end(), singles.begin(), singles.end());
  return out;
}

}  // namespace

std::span<const Phase> phases() {
  return all_phases;
}

std::vector<double> slowest_of(const std::vector<std::vector<double>>& times) {
  std::vector<double> out;
  for (const std::vector<double>& one : times) {
    out.resize(std::max(out.size(), one.size()));
    for (std::size_t i = 0; i < one.size(); ++i) out[i] = std::max(out[i], one[i]);
  }
  return out;
}

void let_others_sleep() {
  pause_for(until_all_sleep_ns);
}

void Context::print_pooled(const std::string& bench, std::size_t bytes, const Sample& mine) const {
  Sample pool;
  double least = 0, most = 0;
  for (const std::vector<double>& p : job.gather(packed(mine))) {
    if (p.size() < 4) continue;
    const auto singles_from = p.begin() + 4 + static_cast<std::ptrdiff_t>(p.at(3));
    pool.merge({{p.begin() + 4, singles_from}, {singles_from, p.end()}, static_cast<unsigned>(p.at(0))});
    least = least == 0 ? p.at(1) : std::min(least, p.at(1));
    most = std::max(most, p.at(2));
  }
  if (!job.is_root()) return;
  Record record = make_record(bench, job.size(), bytes, pool);
  record.figures.min = least;  // thinning kept the quantiles, not the ends
  record.figures.max = most;
  reporter.print(record);
}

void Context::print_slowest(const std::string& bench, std::size_t bytes,
                            const std::vector<double>& mine) const {
  const auto times = job.gather(mine);
  if (!job.is_root()) return;
  std::vector<double> slowest = slowest_of(times), everybody;
  for (const auto& one : times) everybody.insert(everybody.end(), one.begin() + 1, one.end());
  const double first = slowest.at(0);
  slowest.erase(slowest.begin());
  Record record = make_record(bench, job.size(), bytes, Sample{std::move(slowest), {}, 1});
  record.extra = {{"first_ns", first}, {"rank_median_ns", summarize(std::move(everybody)).median}};
  reporter.print(record);
}

void Context::print_per_rank(const std::string& bench, const std::string& unit, double mine) const {
  std::vector<double> values;
  for (const std::vector<double>& one : job.gather({mine})) values.push_back(one.at(0));
  print(make_record(bench, job.size(), unit, values));
}

}  // namespace weft::bench
