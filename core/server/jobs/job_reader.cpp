// SPDX-License-Identifier: BSD-3-Clause
// First pass: the job itself, and which arrays there are.
#include "core/server/jobs/job_reader.hpp"

#include <utility>

#include "core/data/node_map.hpp"

namespace weft::server {

namespace {

// Arrays in arrays: the Standard names three levels.
constexpr int deepest = 8;

}  // namespace

std::uint32_t JobReader::number_of(const pmix_value_t& value) {
  const auto number = data::as_unsigned(value);
  return number && *number < none ? static_cast<std::uint32_t>(*number) : none;
}

Unexpected JobReader::refuse(std::string_view key, std::string_view why) {
  const char* name = data::attribute_name(key);
  reason_ = std::string(name != nullptr ? std::string_view(name) : key) + " " + std::string(why);
  return fail(Errc::invalid, "what the host says of a namespace makes no sense");
}

Result<void> JobReader::grow(std::uint32_t ranks) {
  if (ranks > max_ranks) return refuse(PMIX_RANK, "is more than any machine has");
  if (spec_.ranks.size() < ranks) spec_.ranks.resize(ranks);
  return {};
}

Result<void> JobReader::keep(KeyOwner owner, const pmix_info_t& info) {
  auto value = data::Value::copy_of(info.value);
  if (!value) return fail(value.error());
  spec_.keys.push_back({owner, std::string(data::key_of(info)), std::move(*value)});
  return {};
}

/// Said twice it must be the same.
Result<void> JobReader::take_number(const pmix_info_t& info, std::uint32_t& to) {
  const auto number = number_of(info.value);
  if (number == none) return refuse(data::key_of(info), "is not a number");
  if (to != none && to != number) return refuse(data::key_of(info), "is there twice, with two values");
  to = number;
  return {};
}

Result<void> JobReader::take_nodes(const pmix_info_t& info) {
  auto names = data::parse_node_map(data::map_text(info.value));
  if (!names) return refuse(PMIX_NODE_MAP, names.error().what);
  if (!node_names_.empty() && node_names_ != *names)
    return refuse(PMIX_NODE_MAP, "is there twice, with two values");
  node_names_ = std::move(*names);
  return {};
}

Result<void> JobReader::take_places(const pmix_info_t& info) {
  auto map = data::parse_proc_map(data::map_text(info.value));
  if (!map) return refuse(PMIX_PROC_MAP, map.error().what);
  if (!ranks_of_node_.empty() && ranks_of_node_ != *map)
    return refuse(PMIX_PROC_MAP, "is there twice, with two values");
  ranks_of_node_ = std::move(*map);
  return {};
}

Result<void> JobReader::job_level(const pmix_info_t& info, int depth) {
  const auto key = data::key_of(info);
  if (depth > deepest) return refuse(key, "lies too deep in other arrays");
  if (key == PMIX_PROC_INFO_ARRAY) return processes_.push_back(&info), Result<void>();
  if (key == PMIX_NODE_INFO_ARRAY) return nodes_.push_back(&info), Result<void>();
  if (key == PMIX_APP_INFO_ARRAY) return applications_.push_back(&info), Result<void>();
  if (key == PMIX_SESSION_INFO_ARRAY) return session(info, depth + 1);
  if (key == PMIX_JOB_INFO_ARRAY)
    return each(info, [&](const pmix_info_t& i) { return job_level(i, depth + 1); });
  Result<void> ok;
  if (key == PMIX_REGISTER_NODATA) {
    has_data_ = !data::is_true(info.value);
    return {};
  }
  if (key == "weft.trace") {
    spec_.has_trace_logs = data::is_true(info.value);
    return {};
  }
  if (key == "weft.start") {
    spec_.has_start_cells = data::is_true(info.value);
    return {};
  }
  if (key == PMIX_NODE_MAP)
    ok = take_nodes(info);
  else if (key == PMIX_PROC_MAP)
    ok = take_places(info);
  else if (key == PMIX_JOB_SIZE)
    ok = take_number(info, size_);
  else if (key == PMIX_NODEID)
    ok = take_number(info, my_node_);
  else if (key == PMIX_NUM_NODES)
    ok = take_number(info, cluster_);
  else if (key == PMIX_JOB_NUM_APPS)
    ok = take_number(info, apps_);
  else if (key == PMIX_SESSION_ID)
    ok = take_number(info, session_);
  else if (key == PMIX_NPROC_OFFSET && number_of(info.value) < max_ranks)
    offset_ = number_of(info.value);
  else if (key == PMIX_LOCAL_PEERS) {
    auto map = data::parse_proc_map(data::map_text(info.value));
    if (!map || map->size() != 1) return refuse(key, "is not a list of ranks");
    peers_ = std::move(map->front());
  }
  return ok ? keep({Realm::job, 0}, info) : ok;
}

/// Jobs inside a session are this one: one namespace is registered at a time.
Result<void> JobReader::session(const pmix_info_t& array, int depth) {
  sessions_.push_back(&array);
  return each(array, [&](const pmix_info_t& i) -> Result<void> {
    const auto key = data::key_of(i);
    if (key == PMIX_JOB_INFO_ARRAY || key == PMIX_NODE_INFO_ARRAY) return job_level(i, depth);
    return {};
  });
}

}  // namespace weft::server
