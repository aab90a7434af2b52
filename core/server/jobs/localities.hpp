// SPDX-License-Identifier: BSD-3-Clause
// PMIX_LOCALITY_STRING of ranks, where the host leaves its making to the library (`weft.localities`): it
// takes a topology, and that takes milliseconds to load, which the start of programs need not wait for. The
// loop's thread only.
#pragma once

#include <string_view>

#include "core/server/jobs/job.hpp"

namespace weft::server {

/// An attribute of the job, bool: of its ranks on this node those with a PMIX_CPUSET may use these
/// processors, all others those that this process may use.
inline constexpr std::string_view localities_attribute = "weft.localities";

/// Gives the ranks of this node their locality, once a job, in the segment as if the host had. To be called
/// before any process reads such keys of the job. Where no topology can be read they have none.
void make_localities(Job& job);

}  // namespace weft::server
