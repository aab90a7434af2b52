// SPDX-License-Identifier: BSD-3-Clause
// The values of keys that are computed from a job: the functions behind the table of job_keys.cpp. index: of
// the rank, node, application or session that the key is of. Errors: not_found.
#pragma once

#include <string>

#include "core/store/get/job_keys.hpp"

namespace weft::store::key_values {

using data::Value;
using Compute = Result<Value> (*)(const JobView&, std::uint32_t index);

inline Result<Value> number(std::uint32_t v) {
  if (v == none) return fail(Errc::not_found);
  return Value::of(v);
}
inline Result<Value> small(std::uint16_t v) {
  if (v == none16) return fail(Errc::not_found);
  return Value::of(v);
}
inline Result<Value> a_rank(std::uint32_t v) {
  if (v == none) return fail(Errc::not_found);
  return Value::of_rank(v);
}

inline Result<Value> text(const std::string& v) {
  if (v.empty()) return fail(Errc::not_found);
  return Value::of(std::string_view(v));
}

Result<Value> peers(const JobView& job, std::uint32_t node);
Result<Value> size_of_node(const JobView& job, std::uint32_t node);
Result<Value> leader(const JobView& job, std::uint32_t node);
Result<Value> host_name(const JobView& job, std::uint32_t node);
std::string name_of(const JobView& job, std::uint32_t node);
/// "0,1;2,3": the ranks of each node.
Result<Value> ranks_by_node(const JobView& job, std::uint32_t);
/// PMIX_ANL_MAP in the format of PMI-1: "(vector,(first node, nodes, ranks on each),...)" in the order of the
/// ranks.
Result<Value> vector_map(const JobView& job, std::uint32_t);
/// The position of rank 0 in the session, if the ranks of the job are consecutive there.
Result<Value> offset_of_job(const JobView& job, std::uint32_t);
/// The value that the host registered; nothing is computed.
Result<Value> stored(const JobView& job, KeyOwner owner, std::string_view key);
/// PMIX_UNIV_SIZE, PMIX_MAX_PROCS and PMIX_NUM_SLOTS are names of one number.
Result<Value> size_of_session(const JobView& job, std::uint32_t session);
Result<Value> node_list_of_session(const JobView& job, std::uint32_t session);
Result<Value> node_count_of_session(const JobView& job, std::uint32_t session);
Result<Value> id_of_session(const JobView& job, std::uint32_t session);
Result<Value> node_count_of_app(const JobView& job, std::uint32_t app);
Result<Value> node_list_of_app(const JobView& job, std::uint32_t app);
Result<Value> ranks_of_app(const JobView& job, std::uint32_t app);
Result<Value> size_of_app(const JobView& job, std::uint32_t app);
/// On this node.
Result<Value> local_size_of_app(const JobView& job, std::uint32_t app);
/// At least as many as run there can.
Result<Value> capacity_of_node(const JobView& job, std::uint32_t node);
Result<Value> is_node_oversubscribed(const JobView& job, std::uint32_t node);
/// The processes of this job on the node.
Result<Value> procs_of_node(const JobView& job, std::uint32_t node);
/// How many lower ranks of the job are on the package of this one.
Result<Value> package_rank(const JobView& job, std::uint32_t rank);
/// A string for each local rank, in their order; where one is not bound, there is no such list.
Result<Value> cpusets_of_node(const JobView& job, std::uint32_t node);
/// False, unless the host said otherwise of the job.
Result<Value> was_spawned(const JobView& job, std::uint32_t);
Result<Value> folder_of_session(const JobView& job, std::uint32_t);
Result<Value> is_session_folder_removed(const JobView& job, std::uint32_t);
Result<Value> folder_of_job(const JobView& job, std::uint32_t);
Result<Value> folder_of_rank(const JobView& job, std::uint32_t rank);

}  // namespace weft::store::key_values
