// SPDX-License-Identifier: BSD-3-Clause
// Processes as runs of ranks: a name of 256 bytes for each of a hundred thousand would be too much. Pure
// functions.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/wire.hpp"
#include "core/link/proc_set.hpp"
#include "weft/result.hpp"

namespace weft::link {

/// Ranks first to last of one namespace; PMIX_RANK_WILDCARD in both: all.
struct RankRun {
  std::string nspace;
  std::uint32_t first = 0, last = 0;
  auto operator<=>(const RankRun&) const = default;
};
template <class Archive>
void fields(Archive& archive, RankRun& m) {
  archive(m.nspace, m.first, m.last);
}
using RankRuns = std::vector<RankRun>;

/// In their order.
RankRuns runs_of(const Procs& procs);
/// A namespace that is named as a whole counts as one.
std::uint64_t count_of(const RankRuns& runs) noexcept;
bool holds(const RankRuns& runs, const pmix_proc_t& proc) noexcept;
/// Some are of another namespace than this process.
bool has_others(const RankRuns& runs, const pmix_proc_t& proc) noexcept;
/// How many stand before it; nothing: it is none of them.
std::optional<std::uint64_t> place_in(const RankRuns& runs, const pmix_proc_t& proc) noexcept;
/// Errors: corrupt (more processes than any job has).
Result<Procs> procs_of(const RankRuns& runs);
/// The same of runs that are checked; none in place of an error.
inline Procs procs_or_none(const RankRuns& runs) {
  return procs_of(runs).value_or(Procs());
}

}  // namespace weft::link
