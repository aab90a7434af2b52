// SPDX-License-Identifier: BSD-3-Clause
// Who shares this rank's node, and who does not.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bench/weftbench/job.hpp"

namespace weft::bench {

/// "0,1,7" as PMIX_LOCAL_PEERS has it, in rising order. nullopt: something else, or a rank not below `size`.
std::optional<std::vector<unsigned>> parse_ranks(std::string_view text, unsigned size);

/// Ranks of the job on this rank's node, itself among them, rising. From PMIX_LOCAL_PEERS: nothing is exchanged.
std::vector<unsigned> neighbours(const Job& job);

/// All ranks that are not in `near`, which is rising. Where nodes have equally many consecutive ranks, the first one is
/// this rank's like on the next node, so that ranks which begin together begin with different ones.
std::vector<unsigned> strangers_of(unsigned me, const std::vector<unsigned>& near, unsigned size);
std::vector<unsigned> strangers(const Job& job);

}  // namespace weft::bench
