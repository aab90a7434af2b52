// SPDX-License-Identifier: BSD-3-Clause
// PMIX_TMPDIR, PMIX_NSDIR and PMIX_PROCDIR where the host leaves their making to the library (`weft.tmpdir`,
// docs/design/nodes.md): a folder is made when a process of the job first asks for its name. Most never do,
// and a folder for each rank would cost more than a tenth of the time in which small ranks start and end.
#pragma once

#include <pmix_common.h>

#include <string_view>

#include "core/store/segment/job_view.hpp"

namespace weft::client {

/// True for the keys whose values are, or hold, names of such folders.
bool names_scratch_folders(std::string_view key) noexcept;

/// Makes those folders that `value`, found for a key of the process's own job, names and that are not there
/// yet, for this user only. Folders of other nodes, and those that the host has named itself, are not made.
/// Errors: denied (another user has a folder of that name, too); no_space: a full file system, or one that is
/// not there.
Result<void> make_scratch_folders(const store::JobView& job, const pmix_value_t& value);

}  // namespace weft::client
