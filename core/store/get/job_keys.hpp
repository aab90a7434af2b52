// SPDX-License-Identifier: BSD-3-Clause
// Reserved keys that follow from the job map: computed by a Get, never stored for each rank.
#pragma once

#include <string>

#include "core/store/segment/job_view.hpp"

namespace weft::store {

/// The value of `key` for `owner`, if the map contains it. hash: hash_key(key). Errors: not_found.
/// Cost: a table lookup; a list of ranks or nodes costs a walk over those that it lists.
Result<data::Value> compute_key(const JobView& job, KeyOwner owner, std::string_view key, std::uint64_t hash);

/// Appends every computed key of `owner`: what a Get without a key returns besides the stored keys.
void compute_all(const JobView& job, KeyOwner owner, data::Infos& out);

/// The owner of the keys of the job's session.
inline constexpr KeyOwner own_session{Realm::session, 0};

/// The session with this id, as keys are registered with this job: its own, or another one.
KeyOwner session_owner(const JobView& job, std::uint32_t session);

/// The ranks of a node, ascending; a view into the segment.
inline std::span<const std::uint32_t> ranks_on(const JobView& job, std::uint32_t node) {
  return job.ranks_on(node);
}

/// PMIX_TMPDIR of this node, where the host leaves its making to the library (`weft.tmpdir`); else empty.
std::string scratch_folder(const JobView& job);

/// The names of the job's nodes in order of their ids, separated by commas; unnamed nodes are left out.
std::string node_names(const JobView& job);

/// The id of the node with that name; `none` if the job has no such node.
std::uint32_t node_by_name(const JobView& job, std::string_view name);

}  // namespace weft::store
