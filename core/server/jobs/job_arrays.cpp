// SPDX-License-Identifier: BSD-3-Clause
// Second pass: the arrays of sessions, processes, nodes and applications.
#include "core/server/jobs/job_reader.hpp"

#include <algorithm>
#include <utility>

#include "core/data/node_map.hpp"

namespace weft::server {

/// The session of the job is the one that it names, else the first; the keys of others stand under their ids.
Result<void> JobReader::read_sessions() {
  for (const auto* array : sessions_) {
    std::uint32_t id = none;
    if (auto ok = each(*array,
                       [&](const pmix_info_t& i) -> Result<void> {
                         return data::key_of(i) == PMIX_SESSION_ID ? take_number(i, id) : Result<void>();
                       });
        !ok)
      return ok;
    const bool is_own = array == sessions_.front() ? session_ == none || id == none || id == session_
                                                   : id == none || id == session_;
    if (array == sessions_.front() && is_own && session_ == none) session_ = id;
    const KeyOwner owner{Realm::session, is_own ? 0 : id == 0 ? none : id};
    if (auto ok = each(*array,
                       [&](const pmix_info_t& i) -> Result<void> {
                         const auto key = data::key_of(i);
                         const bool is_array = key == PMIX_JOB_INFO_ARRAY || key == PMIX_NODE_INFO_ARRAY;
                         return is_array ? Result<void>() : keep(owner, i);
                       });
        !ok)
      return ok;
  }
  return {};
}

Result<void> JobReader::process(const pmix_info_t& array) {
  std::uint32_t rank = none;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       const auto key = data::key_of(i);
                       if (key == PMIX_RANK) return take_number(i, rank);
                       if (key == PMIX_PROCID && rank == none && i.value.type == PMIX_PROC &&
                           i.value.data.proc != nullptr)
                         rank = i.value.data.proc->rank;
                       return {};
                     });
      !ok)
    return ok;
  if (rank == none) return refuse(PMIX_PROC_INFO_ARRAY, "has no PMIX_RANK");
  if (rank >= max_ranks) return refuse(PMIX_RANK, "is more than any machine has");
  if (size_ != none && rank >= size_) return refuse(PMIX_PROC_INFO_ARRAY, "has a rank above PMIX_JOB_SIZE");
  if (auto ok = grow(rank + 1); !ok) return ok;
  return each(array, [&](const pmix_info_t& i) { return process_key(rank, i); });
}

Result<void> JobReader::process_key(std::uint32_t rank, const pmix_info_t& info) {
  auto& entry = spec_.ranks[rank];
  const auto key = data::key_of(info);
  const auto number = number_of(info.value);
  // Columns of the map: 24 bytes a rank instead of a record each.
  if (key == PMIX_RANK || key == PMIX_PROCID) return {};
  const bool is_wide =
      key == PMIX_NODEID || key == PMIX_APPNUM || key == PMIX_APP_RANK || key == PMIX_GLOBAL_RANK;
  const bool is_narrow = key == PMIX_LOCAL_RANK || key == PMIX_NODE_RANK;
  if ((is_wide && number == none) || (is_narrow && number >= none16))
    return refuse(key, "of a process is not a number that it can have");
  if (key == PMIX_NODEID) return void(entry.node = number), Result<void>();
  if (key == PMIX_APPNUM) return void(entry.appnum = number), Result<void>();
  if (key == PMIX_APP_RANK) return void(entry.app_rank = number), Result<void>();
  if (key == PMIX_GLOBAL_RANK) return void(entry.global_rank = number), Result<void>();
  if (key == PMIX_LOCAL_RANK)
    return void(entry.local_rank = static_cast<std::uint16_t>(number)), Result<void>();
  if (key == PMIX_NODE_RANK)
    return void(entry.node_rank = static_cast<std::uint16_t>(number)), Result<void>();
  if (key == PMIX_HOSTNAME && entry.node == none) entry.node = node_named(data::map_text(info.value));
  return keep({Realm::rank, rank}, info);
}

std::uint32_t JobReader::node_named(std::string_view name) const {
  const auto found = std::find(node_names_.begin(), node_names_.end(), name);
  return found == node_names_.end() ? none : static_cast<std::uint32_t>(found - node_names_.begin());
}

Result<void> JobReader::node(const pmix_info_t& array) {
  std::uint32_t id = none;
  std::string_view name;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       if (data::key_of(i) == PMIX_HOSTNAME) name = data::map_text(i.value);
                       return data::key_of(i) == PMIX_NODEID ? take_number(i, id) : Result<void>();
                     });
      !ok)
    return ok;
  if (id == none && !name.empty()) id = node_named(name);
  if (id == none && name == host_) id = my_node_;
  if (id == none)
    return refuse(PMIX_NODE_INFO_ARRAY, "has neither PMIX_NODEID nor a PMIX_HOSTNAME of PMIX_NODE_MAP");
  if (id >= max_ranks) return refuse(PMIX_NODEID, "is more than any machine has");
  return each(array, [&](const pmix_info_t& i) { return keep({Realm::node, id}, i); });
}

Result<void> JobReader::application(const pmix_info_t& array) {
  App app;
  app.number = none;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       const auto key = data::key_of(i);
                       if (key == PMIX_APPNUM) return take_number(i, app.number);
                       if (key == PMIX_APP_SIZE) return take_number(i, app.size);
                       if (key == PMIX_APPLDR) return take_number(i, app.leader);
                       if (key != app_ranks_key) return {};
                       auto list = data::parse_proc_map(data::map_text(i.value));
                       if (!list || list->size() != 1) return refuse(key, "is not a list of ranks");
                       app.ranks = std::move(list->front());
                       return {};
                     });
      !ok)
    return ok;
  if (app.number == none && applications_.size() > 1)
    return refuse(PMIX_APP_INFO_ARRAY, "has no PMIX_APPNUM, and there are several");
  if (app.number == none) app.number = 0;
  if (app.number >= max_ranks) return refuse(PMIX_APPNUM, "is more than any machine has");
  for (const auto& other : app_arrays_)
    if (other.number == app.number) return refuse(PMIX_APPNUM, "is that of two applications");
  if (auto ok = each(array, [&](const pmix_info_t& i) { return keep({Realm::app, app.number}, i); }); !ok)
    return ok;
  app_arrays_.push_back(std::move(app));
  return {};
}

}  // namespace weft::server
