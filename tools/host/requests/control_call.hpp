// SPDX-License-Identifier: BSD-3-Clause
// What a process asks for by PMIx_Job_control. Source: PMIx Standard, chapter "Job Management and Reporting".
#pragma once

#include <pmix_common.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tools/job/control.hpp"

namespace weft::host {

/// The keys of the actions that there are.
std::vector<std::string> control_attributes();

/// targets: none: the caller's job. Fills `out`. Errors: PMIX_ERR_BAD_PARAM (several actions, or a value of
/// the wrong type), PMIX_ERR_NOT_SUPPORTED (none that this host has).
pmix_status_t read_control_call(const pmix_proc_t& from, const pmix_proc_t targets[], std::size_t count,
                                const pmix_info_t directives[], std::size_t directives_count,
                                job::ControlRequest& out);

}  // namespace weft::host
