// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share this rank's node, and which do not.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "bench/weftbench/job.hpp"

namespace weft::bench {

/// The ranks in "0,1,7", the format of PMIX_LOCAL_PEERS, ascending. nullopt: malformed, or a rank not below
/// `size`.
std::optional<std::vector<unsigned>> parse_ranks(std::string_view text, unsigned size);

/// The ranks of the job on this rank's node, itself included, ascending. From PMIX_LOCAL_PEERS: nothing is
/// exchanged.
std::vector<unsigned> neighbours(const Job& job);

/// How many hosts the job runs on; 0: the library does not say.
unsigned host_count(const Job& job);

/// All ranks that are not in `near`, which must be ascending. Where nodes have equally many consecutive
/// ranks, the first is the counterpart of this rank on the next node, so ranks that start together start with
/// different ones.
std::vector<unsigned> strangers_of(unsigned me, const std::vector<unsigned>& near, unsigned size);
std::vector<unsigned> strangers(const Job& job);

}  // namespace weft::bench
