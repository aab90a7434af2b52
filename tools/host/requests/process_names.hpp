// SPDX-License-Identifier: BSD-3-Clause
// Names of processes, as the C API has them, in the words of tools/job.
#pragma once

#include <pmix_common.h>

#include <span>
#include <string>
#include <vector>

#include "tools/job/control.hpp"

namespace weft::host {

job::ProcessName name_of(const pmix_proc_t& proc);
/// One for each namespace; PMIX_RANK_WILDCARD: all of its ranks.
std::vector<job::ControlRequest::Target> targets_of(std::span<const pmix_proc_t> procs);

}  // namespace weft::host
