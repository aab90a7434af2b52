// SPDX-License-Identifier: BSD-3-Clause
// Where the ranks of a job are, as weftrun prints it: ranks in one place together, so that a thousand of them
// are read at a glance. Pure functions.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/job/place.hpp"

namespace weft::messages {

struct PlacesOnNode {
  std::string host;
  std::vector<job::Rank> ranks;       ///< that run there, as far as is known; ascending
  std::optional<job::Places> places;  ///< nothing: the node has not answered
};

/// Several lines. job: its name; empty: weftrun's own, which needs none. program_of: as the user named it.
std::string where_ranks_are(const std::string& job, const std::vector<PlacesOnNode>& nodes,
                            const std::function<std::string(job::Rank)>& program_of);

/// Some rank has been in one call of PMIx for so long.
bool has_waited(const std::vector<PlacesOnNode>& nodes, std::chrono::milliseconds time);

}  // namespace weft::messages
