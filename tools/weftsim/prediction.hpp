// SPDX-License-Identifier: BSD-3-Clause
// Predicts the operations of a job from its schedules and the figures of its network.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/weftsim/operation.hpp"

namespace weft::weftsim {

/// names: of operation_names. Throws Stop (usage) where one is too large to simulate.
std::vector<Operation> predict(const Job& job, const std::vector<std::string>& names);
Operation predict(const Job& job, std::string_view name);

/// Bytes of a node's memory that the job takes before any fence.
std::uint64_t memory_of_job(const Job& job);

}  // namespace weft::weftsim
