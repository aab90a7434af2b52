// SPDX-License-Identifier: BSD-3-Clause
// A cluster as text: for people, and as JSON for programs. Pure functions.
#pragma once

#include <string>

#include "tools/weftinfo/clusters.hpp"
#include "tools/weftinfo/report.hpp"

namespace weft::weftinfo {

std::string text_of(const std::vector<Listed>& clusters);
std::string text_of(const Cluster& cluster);
/// Each counter: of all nodes together, and where there are several, the least and the most of one.
std::string counters_of(const Cluster& cluster);

/// What each node's server, its clients and the parts of the segment take.
std::string memory_of(const Cluster& cluster);

/// Which algorithms its collectives take, and what the next best would.
std::string collectives_of(const Cluster& cluster);

std::string json_of(const std::vector<Listed>& clusters);
std::string json_of(const Cluster& cluster);

/// "850 ms", "12 s", "3 min 5 s", "2 h 4 min".
std::string duration(std::uint64_t milliseconds);

}  // namespace weft::weftinfo
