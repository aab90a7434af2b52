// SPDX-License-Identifier: BSD-3-Clause
// --rankfile: which host and which cores each rank has, line by line. Text in, values out; errors are thrown
// as Stop (usage) with one line that names file and line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/allocation/hosts.hpp"
#include "tools/job/rank.hpp"
#include "tools/placement/distribution.hpp"

namespace weft::placement {

/// One line: "rank 3=a slot=1:0-2".
struct RankPlace {
  job::Rank rank{0};
  std::string host;   ///< "+n2": the third host of the job's list
  std::string cores;  ///< read_core_list() reads it
  std::size_t line = 0;
  bool operator==(const RankPlace&) const = default;
};

struct RankFile {
  std::string name;               ///< of the file, for lines to the user
  std::vector<RankPlace> places;  ///< of ranks 0, 1, 2 ... each one
};

/// Lines "rank N=HOST slot=CORES"; without slot= a rank has all cores. '#' begins a comment. No rank may have
/// two places, or none while a higher one has some.
RankFile read_rank_file(std::string_view text, const std::string& name);
RankFile read_rank_file(const std::string& name);

/// The hosts of the file, each with as many slots as it has ranks: where the user names no others.
allocation::Hosts hosts_of(const RankFile& file);

/// ranks: of each program; 0: all of the file (for a single program).
Distribution place_as_listed(const RankFile& file, const std::vector<std::uint32_t>& ranks,
                             const allocation::Hosts& hosts);

}  // namespace weft::placement
