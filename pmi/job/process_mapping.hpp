// SPDX-License-Identifier: BSD-3-Clause
// Which rank is on which node, as the text that MPI libraries read under the key PMI_process_mapping.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::pmi {

/// "(vector,(0,2,4))": blocks (first node, nodes, ranks on each of them) that are dealt out in turn to the
/// ranks from 0 on; a list that ends before the ranks do begins again. nodes: the node number of each rank;
/// none: "(vector)".
std::string process_mapping(const std::vector<std::uint32_t>& nodes);

}  // namespace weft::pmi
