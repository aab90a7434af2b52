// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/fences/stuck.hpp"

#include <fmt/format.h>

#include "core/store/segment/layout.hpp"

namespace weft::server {

std::string rank_ranges(const std::vector<std::uint32_t>& ranks) {
  std::string out;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!out.empty()) out += ',';
    out += last == i ? fmt::format("{}", ranks[i]) : fmt::format("{}-{}", ranks[i], ranks[last]);
    i = last + 1;
  }
  return out;
}

namespace {

// Pids for the first few: enough to attach a debugger to one, without a screenful at full scale.
constexpr std::size_t with_pid = 8;

/// "rank 4 pid 17", "rank 5 never called PMIx_Init", "rank 6 has ended".
std::string describe(const AbsentRank& rank) {
  if (rank.state == store::Local::gone) return fmt::format("rank {} has ended", rank.rank);
  if (rank.pid <= 0) return fmt::format("rank {} never called PMIx_Init", rank.rank);
  return fmt::format("rank {} pid {}{}", rank.rank, rank.pid,
                     rank.state == store::Local::finalized ? " has called PMIx_Finalize" : "");
}

/// "4-6 (rank 4 pid 17, ...)"
std::string ranks_and_pids(const std::vector<AbsentRank>& missing) {
  std::vector<std::uint32_t> ranks;
  std::string pids;
  for (const auto& one : missing) {
    ranks.push_back(one.rank);
    if (ranks.size() <= with_pid) pids += (pids.empty() ? "" : ", ") + describe(one);
  }
  if (missing.size() > with_pid) pids += ", ...";
  return fmt::format("{} ({})", rank_ranges(ranks), pids);
}

/// A debugger helps with processes that run, a look at the command line with ranks that never came.
std::string advice_about(const StuckFence& fence) {
  bool runs = false, never_came = false;
  for (const auto& node : fence.missing)
    for (const auto& rank : node.missing) {
      runs |= rank.pid > 0 && rank.state != store::Local::gone;
      never_came |= rank.pid <= 0 && rank.state != store::Local::gone;
    }
  std::string out;
  if (runs) out += "Look at what they are doing (gdb -p PID). ";
  if (never_came)
    out +=
        "Ranks that never called PMIx_Init may run a program that does not use this library, or may not have "
        "come that far. ";
  return out + "WEFT_STUCK_AFTER sets this limit in seconds, 0 turns the report off.\n";
}

/// "fence 4 of job7", "construct of group g of a set of 3 processes of job7".
std::string title(const StuckFence& fence) {
  const auto& name = fence.name;
  const auto& procs = name.procs;
  const auto nspace = procs.empty() ? std::string() : procs.front().nspace;
  const auto what = name.operation.is_fence() ? fmt::format("fence {}", name.generation)
                                              : to_text(name.operation) + fence.remark;
  if (procs.size() == 1 && procs.front().first == PMIX_RANK_WILDCARD)
    return fmt::format("{} of {}", what, nspace);
  std::uint64_t count = 0;
  for (const auto& run : procs)
    if (run.first != PMIX_RANK_WILDCARD) count += std::uint64_t{run.last} - run.first + 1;
  return fmt::format("{} of a set of {} processes of {}", what, count, nspace);
}

}  // namespace

std::string stuck_report(const StuckFence& fence) {
  std::string where;
  for (const auto& node : fence.missing) {
    if (!where.empty()) where += "; ";
    where += node.has_answered ? ranks_and_pids(node.missing) : "which ranks is not known";
    if (!node.host.empty()) where += fmt::format(" on {}", node.host);
  }
  if (!fence.also.empty()) where += (where.empty() ? "" : "; ") + fence.also;
  return fmt::format("{} has been open for {} s: {} of {} {} are in it{}, missing: {}. {}", title(fence),
                     fence.age.count(), fence.arrived, fence.members, fence.unit,
                     fence.unit == "nodes" ? " with all their ranks" : "", where, advice_about(fence));
}

}  // namespace weft::server
