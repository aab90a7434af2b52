// SPDX-License-Identifier: BSD-3-Clause
// What PMI-2 calls attributes of a job and of a node, by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pmi/job/job.hpp"

namespace weft::pmi {

/// PMI_process_mapping, universeSize, and what the job was spawned with.
std::optional<std::string> attribute_of_job(const Job& job, std::string_view name);
/// localRanks, localRanksCount, and what the ranks of this node have put.
std::optional<std::string> attribute_of_node(const Job& job, std::string_view name);

}  // namespace weft::pmi
