// SPDX-License-Identifier: BSD-3-Clause
// From the info array of PMIx_server_register_nspace to a job of the segment.
#pragma once

#include <set>

#include "core/store/segment/job_builder.hpp"

namespace weft::server {

/// Reads the job, node, app, session and process arrays, in any order and in each other, the node and process
/// maps, and derives what follows from them: a rank's node, local rank, the local peers. Keys beside the
/// arrays are kept in their own realm. An attribute that makes no sense, or says two things, is an error, and
/// one line on stderr names it.
///   local_size   nlocalprocs of the call
///   registered   ranks of this namespace that the host registered as local clients already
///   host         this node's name, to find its place in the node map
/// Errors: invalid (a malformed map, an array of the wrong type, a rank outside the job), no_memory.
Result<store::JobSpec> read_job_info(std::string_view nspace, int local_size, const pmix_info_t* infos,
                                     std::size_t count, const std::set<std::uint32_t>& registered,
                                     std::string_view host);

}  // namespace weft::server
