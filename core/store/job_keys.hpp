// SPDX-License-Identifier: BSD-3-Clause
// Reserved keys that follow from the job map: computed when asked for, never stored a rank.
#pragma once

#include <string>

#include "core/store/job_view.hpp"

namespace weft::store {

/// The value of `key` for `subject`, if the map holds it. hash: hash_key(key). Errors: not_found.
/// Cost: a table look-up; what lists ranks walks those that it lists, what lists nodes the nodes.
Result<data::Value> compute_key(const JobView& job, Subject subject, std::string_view key,
                                std::uint64_t hash);

/// Appends every computed key of `subject`: what a Get without a key returns besides the stored ones.
void compute_all(const JobView& job, Subject subject, data::Infos& out);

/// Ranks of a node, ascending. They lie in the segment.
inline std::span<const std::uint32_t> ranks_on(const JobView& job, std::uint32_t node) {
  return job.ranks_on(node);
}

/// Names of the job's nodes, in order of their ids, separated by commas; unnamed nodes are left out.
std::string node_names(const JobView& job);

/// The node's id by its name; none if there is no such node in this job.
std::uint32_t node_by_name(const JobView& job, std::string_view name);

}  // namespace weft::store
