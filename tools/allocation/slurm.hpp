// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a Slurm allocation, as salloc(1), sbatch(1) and srun(1) describe them in the environment.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/allocation/hosts.hpp"

namespace weft::allocation {

using Variable = std::function<std::optional<std::string>(const char*)>;

/// "2(x3),1" is 2 2 2 1. Nothing: the text is no such list, or has more than most_hosts numbers.
std::optional<std::vector<std::uint32_t>> read_slurm_counts(std::string_view text);

/// Nothing outside of an allocation (SLURM_JOB_ID, SLURM_JOB_NODELIST). Slots are SLURM_TASKS_PER_NODE, where
/// that is missing SLURM_JOB_CPUS_PER_NODE, else one. Throws Stop (usage) when the variables contradict each
/// other, and in a heterogeneous allocation: a plain srun starts daemons on its first group only, and weftrun
/// does not choose a group.
std::optional<Hosts> slurm_allocation(const Variable& variable);

}  // namespace weft::allocation
