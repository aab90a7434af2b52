// SPDX-License-Identifier: BSD-3-Clause
// What a process or tool asks for by PMIx_IOF_pull, PMIx_IOF_deregister and PMIx_IOF_push. Source: PMIx
// Standard, chapter "Tools and Debuggers".
#pragma once

#include <pmix_common.h>

#include <span>

#include "tools/job/standard_io.hpp"

namespace weft::host {

/// Fills `out`. Errors: PMIX_ERR_BAD_PARAM (the library does not say which pull it is; a rank that is none),
/// PMIX_ERR_NOT_SUPPORTED (no stream that there is; standard input).
pmix_status_t read_pull_call(std::span<const pmix_proc_t> procs, std::span<const pmix_info_t> directives,
                             pmix_iof_channel_t channels, job::PullRequest& out);

/// bytes: null or none: the end. Errors: PMIX_ERR_BAD_PARAM.
pmix_status_t read_push_call(const pmix_proc_t& from, std::span<const pmix_proc_t> targets,
                             std::span<const pmix_info_t> directives, const pmix_byte_object_t* bytes,
                             job::PushRequest& out);

}  // namespace weft::host
