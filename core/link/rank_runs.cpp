// SPDX-License-Identifier: BSD-3-Clause
#include "core/link/rank_runs.hpp"

#include <algorithm>

#include "core/link/messages.hpp"

namespace weft::link {
namespace {

constexpr std::uint64_t most_procs = 1u << 22;  // a gigabyte of names

}  // namespace

std::uint64_t count_of(const RankRuns& runs) noexcept {
  std::uint64_t out = 0;
  for (const auto& run : runs) out += std::uint64_t{run.last} - run.first + 1;
  return out;
}

bool has_others(const RankRuns& runs, const pmix_proc_t& proc) noexcept {
  return std::any_of(runs.begin(), runs.end(),
                     [&](const RankRun& run) { return run.nspace != nspace_of(proc); });
}

bool holds(const RankRuns& runs, const pmix_proc_t& proc) noexcept {
  return std::any_of(runs.begin(), runs.end(), [&](const RankRun& run) {
    return run.first <= proc.rank && proc.rank <= run.last && is_of(proc, run.nspace);
  });
}

std::optional<std::uint64_t> place_in(const RankRuns& runs, const pmix_proc_t& proc) noexcept {
  std::uint64_t before = 0;
  for (const auto& run : runs) {
    if (is_of(proc, run.nspace) && run.first <= proc.rank && proc.rank <= run.last)
      return before + proc.rank - run.first;
    before += std::uint64_t{run.last} - run.first + 1;
  }
  return std::nullopt;
}

RankRuns runs_of(const Procs& procs) {
  RankRuns out;
  for (const auto& proc : procs) {
    const auto nspace = nspace_of(proc);
    const bool goes_on = !out.empty() && out.back().nspace == nspace &&
                         out.back().last != PMIX_RANK_WILDCARD && proc.rank != PMIX_RANK_WILDCARD &&
                         out.back().last + 1 == proc.rank;
    if (goes_on)
      out.back().last = proc.rank;
    else
      out.push_back({std::string(nspace), proc.rank, proc.rank});
  }
  return out;
}

Result<Procs> procs_of(const RankRuns& runs) {
  std::uint64_t count = 0;
  for (const auto& run : runs) {
    if (run.last < run.first) return fail(Errc::corrupt, "a set of processes");
    count += std::uint64_t{run.last} - run.first + 1;
    if (count > most_procs) return fail(Errc::corrupt, "more processes than there can be");
  }
  Procs out;
  out.reserve(count);
  for (const auto& run : runs) {
    for (auto rank = run.first;; ++rank) {
      out.push_back(make_proc(run.nspace, rank));
      if (rank == run.last) break;
    }
  }
  return out;
}

}  // namespace weft::link
