// SPDX-License-Identifier: BSD-3-Clause
#include "core/server/jobs/job_info.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>

#include "core/data/node_map.hpp"

namespace weft::server {
namespace {

using store::KeyOwner;
using store::none;
using store::none16;
using store::Realm;

// In PMIX_APP_INFO_ARRAY: the application's ranks where they do not follow each other, as one node of PMIX_PROC_MAP.
constexpr std::string_view app_ranks_key = "weft.app.ranks";

// A job of the largest machines has some ten million ranks; more is a host's mistake, not a job.
constexpr std::uint32_t max_ranks = 1u << 26;

std::string_view text_of(const pmix_value_t& value) {
  if (value.type == PMIX_STRING && value.data.string != nullptr) return value.data.string;
  if ((value.type == PMIX_REGEX || value.type == PMIX_BYTE_OBJECT) && value.data.bo.bytes != nullptr)
    return {value.data.bo.bytes, ::strnlen(value.data.bo.bytes, value.data.bo.size)};
  return {};
}

std::uint32_t number_of(const pmix_value_t& value) {
  const auto number = data::as_unsigned(value);
  return number && *number < none ? static_cast<std::uint32_t>(*number) : none;
}

class Reader {
 public:
  Reader(store::JobSpec& spec, std::string_view host) : spec_(spec), host_(host) {}

  Result<void> read(const pmix_info_t* infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (auto ok = job_level(infos[i]); !ok) return ok;
    return {};
  }
  Result<void> finish(int local_size, const std::set<std::uint32_t>& registered);

 private:
  Result<void> job_level(const pmix_info_t& info);
  template <class Take>
  Result<void> each(const pmix_info_t& info, Take&& take);
  Result<void> process(const pmix_info_t& array);
  Result<void> process_key(std::uint32_t rank, const pmix_info_t& info);
  Result<void> node(const pmix_info_t& array);
  Result<void> application(const pmix_info_t& array);
  Result<void> keep(KeyOwner owner, const pmix_info_t& info);
  Result<void> grow(std::uint32_t ranks);
  Result<void> place();
  Result<void> place_apps();
  void derive_ranks();

  /// An application as its array describes it; its ranks: a list, or else `size` of them from `leader` on.
  struct App {
    std::uint32_t number = 0, size = none, leader = none;
    std::vector<std::uint32_t> ranks;
  };

  store::JobSpec& spec_;
  std::string_view host_;
  std::vector<App> app_arrays_;
  std::uint32_t offset_ = 0;  ///< PMIX_NPROC_OFFSET
  std::vector<std::string> node_names_;
  std::vector<std::vector<std::uint32_t>> ranks_of_node_;
  std::vector<std::uint32_t> peers_;
  std::uint32_t my_node_ = none;
  std::uint32_t cluster_ = none;
  std::uint32_t apps_ = none;
};

Result<void> Reader::grow(std::uint32_t ranks) {
  if (ranks > max_ranks) return fail(Errc::invalid, "more ranks than any machine has");
  if (spec_.ranks.size() < ranks) spec_.ranks.resize(ranks);
  return {};
}

Result<void> Reader::keep(KeyOwner owner, const pmix_info_t& info) {
  auto value = data::Value::copy_of(info.value);
  if (!value) return fail(value.error());
  spec_.keys.push_back({owner, std::string(data::key_of(info)), std::move(*value)});
  return {};
}

template <class Take>
Result<void> Reader::each(const pmix_info_t& info, Take&& take) {
  const auto* array = info.value.data.darray;
  if (info.value.type != PMIX_DATA_ARRAY || array == nullptr ||
      (array->type != PMIX_INFO && array->size != 0))
    return fail(Errc::invalid, "an info array was expected");
  const auto* items = static_cast<const pmix_info_t*>(array->array);
  for (std::size_t i = 0; i < array->size; ++i)
    if (Result<void> ok = take(items[i]); !ok) return ok;
  return {};
}

Result<void> Reader::job_level(const pmix_info_t& info) {
  const auto key = data::key_of(info);
  if (key == PMIX_PROC_INFO_ARRAY) return process(info);
  if (key == PMIX_NODE_INFO_ARRAY) return node(info);
  if (key == PMIX_APP_INFO_ARRAY) return application(info);
  if (key == PMIX_JOB_INFO_ARRAY) return each(info, [&](const pmix_info_t& i) { return job_level(i); });
  if (key == PMIX_SESSION_INFO_ARRAY)
    return each(info, [&](const pmix_info_t& i) { return keep({Realm::session, 0}, i); });
  if (key == PMIX_REGISTER_NODATA) return {};
  if (key == PMIX_NODE_MAP) {
    auto names = data::parse_node_map(text_of(info.value));
    if (!names) return fail(names.error());
    node_names_ = std::move(*names);
  } else if (key == PMIX_PROC_MAP) {
    auto map = data::parse_proc_map(text_of(info.value));
    if (!map) return fail(map.error());
    ranks_of_node_ = std::move(*map);
  } else if (key == PMIX_JOB_SIZE) {
    if (auto ok = grow(number_of(info.value)); !ok) return ok;
  } else if (key == PMIX_NODEID) {
    my_node_ = number_of(info.value);
  } else if (key == PMIX_NUM_NODES) {
    cluster_ = number_of(info.value);
  } else if (key == PMIX_JOB_NUM_APPS) {
    apps_ = number_of(info.value);
  } else if (key == PMIX_NPROC_OFFSET) {
    if (number_of(info.value) < max_ranks) offset_ = number_of(info.value);
  } else if (key == PMIX_LOCAL_PEERS) {
    auto map = data::parse_proc_map(text_of(info.value));
    if (!map || map->size() != 1) return fail(Errc::invalid, "PMIX_LOCAL_PEERS is not a list of ranks");
    peers_ = std::move(map->front());
  }
  return keep({Realm::job, 0}, info);
}

Result<void> Reader::process(const pmix_info_t& array) {
  std::uint32_t rank = none;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       if (data::key_of(i) == PMIX_RANK) rank = number_of(i.value);
                       return {};
                     });
      !ok)
    return ok;
  if (rank == none) return fail(Errc::invalid, "a process array without PMIX_RANK");
  if (auto ok = grow(rank + 1); !ok) return ok;
  return each(array, [&](const pmix_info_t& i) { return process_key(rank, i); });
}

Result<void> Reader::process_key(std::uint32_t rank, const pmix_info_t& info) {
  auto& entry = spec_.ranks[rank];
  const auto key = data::key_of(info);
  const auto number = number_of(info.value);
  // Columns of the map: 24 bytes a rank instead of a record each.
  if (key == PMIX_RANK) return {};
  if (key == PMIX_NODEID && number != none) return void(entry.node = number), Result<void>();
  if (key == PMIX_APPNUM && number != none) return void(entry.appnum = number), Result<void>();
  if (key == PMIX_APP_RANK && number != none) return void(entry.app_rank = number), Result<void>();
  if (key == PMIX_GLOBAL_RANK && number != none) return void(entry.global_rank = number), Result<void>();
  if (key == PMIX_LOCAL_RANK && number < none16)
    return void(entry.local_rank = static_cast<std::uint16_t>(number)), Result<void>();
  if (key == PMIX_NODE_RANK && number < none16)
    return void(entry.node_rank = static_cast<std::uint16_t>(number)), Result<void>();
  return keep({Realm::rank, rank}, info);
}

Result<void> Reader::node(const pmix_info_t& array) {
  std::uint32_t id = none;
  std::string_view name;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       if (data::key_of(i) == PMIX_NODEID) id = number_of(i.value);
                       if (data::key_of(i) == PMIX_HOSTNAME) name = text_of(i.value);
                       return {};
                     });
      !ok)
    return ok;
  if (id == none && !name.empty()) {
    const auto found = std::find(node_names_.begin(), node_names_.end(), name);
    if (found != node_names_.end()) id = static_cast<std::uint32_t>(found - node_names_.begin());
  }
  if (id == none)
    return fail(Errc::invalid, "a node array with neither PMIX_NODEID nor a known PMIX_HOSTNAME");
  return each(array, [&](const pmix_info_t& i) { return keep({Realm::node, id}, i); });
}

Result<void> Reader::application(const pmix_info_t& array) {
  App app;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       const auto key = data::key_of(i);
                       if (key == PMIX_APPNUM) app.number = number_of(i.value);
                       if (key == PMIX_APP_SIZE) app.size = number_of(i.value);
                       if (key == PMIX_APPLDR) app.leader = number_of(i.value);
                       if (key != app_ranks_key) return {};
                       auto list = data::parse_proc_map(text_of(i.value));
                       if (!list || list->size() != 1)
                         return fail(Errc::invalid, "weft.app.ranks is not a list of ranks");
                       app.ranks = std::move(list->front());
                       return {};
                     });
      !ok)
    return ok;
  if (app.number >= max_ranks) return fail(Errc::invalid, "application number");
  if (auto ok = each(array, [&](const pmix_info_t& i) { return keep({Realm::app, app.number}, i); }); !ok)
    return ok;
  app_arrays_.push_back(std::move(app));
  return {};
}

/// Applications of the ranks, where the host did not say them rank by rank.
Result<void> Reader::place_apps() {
  for (auto& app : app_arrays_) {
    if (app.ranks.empty()) {
      // Sizes without leaders, or of more than this job, say nothing about single ranks.
      if (app.size == none || app.leader == none || app.size > spec_.ranks.size() ||
          app.leader > spec_.ranks.size() - app.size)
        continue;
      app.ranks.resize(app.size);
      std::iota(app.ranks.begin(), app.ranks.end(), app.leader);
    }
    for (const auto rank : app.ranks) {
      if (rank >= spec_.ranks.size())
        return fail(Errc::invalid, "an application's ranks lie outside the job");
      if (spec_.ranks[rank].appnum == none) spec_.ranks[rank].appnum = app.number;
    }
  }
  std::uint32_t highest = 0;
  for (const auto& entry : spec_.ranks)
    if (entry.appnum != none) highest = std::max(highest, entry.appnum);
  spec_.apps = std::max(apps_ != none ? apps_ : 1, highest + 1);
  if (spec_.apps > max_ranks) return fail(Errc::invalid, "application number");
  if (spec_.apps == 1)
    for (auto& entry : spec_.ranks) entry.appnum = 0;
  return {};
}

/// Cluster of the ranks, from the process map where there is one.
Result<void> Reader::place() {
  for (std::uint32_t n = 0; n < ranks_of_node_.size(); ++n)
    for (const auto rank : ranks_of_node_[n]) {
      if (auto ok = grow(rank + 1); !ok) return ok;
      spec_.ranks[rank].node = n;
    }
  if (my_node_ == none) {
    const auto mine = std::find(node_names_.begin(), node_names_.end(), host_);
    my_node_ = mine == node_names_.end() ? 0 : static_cast<std::uint32_t>(mine - node_names_.begin());
  }
  std::uint32_t highest = my_node_;
  for (auto& entry : spec_.ranks) {
    if (entry.node != none) highest = std::max(highest, entry.node);
  }
  spec_.nodes = std::max(
      {cluster_ == none ? 1 : cluster_, highest + 1, static_cast<std::uint32_t>(node_names_.size())});
  if (spec_.nodes > max_ranks) return fail(Errc::invalid, "node number");
  if (spec_.nodes == 1)
    for (auto& entry : spec_.ranks) entry.node = 0;
  if (node_names_.empty())
    spec_.keys.push_back({{Realm::node, my_node_}, PMIX_HOSTNAME, data::Value::of(host_)});
  spec_.node_names = std::move(node_names_);
  return {};
}

/// What the host left out follows from the order of the ranks: on their node, in their application, in the job.
void Reader::derive_ranks() {
  std::vector<std::uint16_t> on_node(spec_.nodes, 0);
  std::vector<std::uint32_t> in_app(spec_.apps, 0);
  for (std::uint32_t r = 0; r < spec_.ranks.size(); ++r) {
    auto& entry = spec_.ranks[r];
    if (entry.global_rank == none) entry.global_rank = offset_ + r;
    if (entry.appnum != none) {
      const auto order = in_app[entry.appnum]++;
      if (entry.app_rank == none) entry.app_rank = order;
    }
    if (entry.node == none) continue;
    const auto order = on_node[entry.node]++;
    if (entry.local_rank == none16) entry.local_rank = order;
    if (entry.node_rank == none16) entry.node_rank = order;
  }
}

Result<void> Reader::finish(int local_size, const std::set<std::uint32_t>& registered) {
  if (!registered.empty())
    if (auto ok = grow(*registered.rbegin() + 1); !ok) return ok;
  if (auto ok = place(); !ok) return ok;
  if (auto ok = place_apps(); !ok) return ok;
  derive_ranks();
  spec_.my_node = my_node_;

  std::set<std::uint32_t> local(registered);
  local.insert(peers_.begin(), peers_.end());
  if (local.empty() && local_size > 0)
    for (std::uint32_t r = 0; r < spec_.ranks.size(); ++r)
      if (spec_.ranks[r].node == my_node_) local.insert(r);
  for (const auto rank : local) {
    if (rank >= spec_.ranks.size()) return fail(Errc::invalid, "a local peer outside the job");
    spec_.ranks[rank].node = my_node_;
  }
  spec_.local_ranks.assign(local.begin(), local.end());
  spec_.local_capacity = std::max(static_cast<std::uint32_t>(std::max(local_size, 0)),
                                  static_cast<std::uint32_t>(spec_.local_ranks.size()));
  return {};
}

}  // namespace

Result<store::JobSpec> read_job_info(std::string_view nspace, int local_size, const pmix_info_t* infos,
                                     std::size_t count, const std::set<std::uint32_t>& registered,
                                     std::string_view host) {
  store::JobSpec spec;
  spec.nspace = nspace;
  Reader reader(spec, host);
  if (auto ok = reader.read(infos, count); !ok) return fail(ok.error());
  if (auto ok = reader.finish(local_size, registered); !ok) return fail(ok.error());
  return spec;
}

}  // namespace weft::server
