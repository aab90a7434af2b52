// SPDX-License-Identifier: BSD-3-Clause
// What follows from the maps and arrays: the places of ranks, on nodes and in applications, and the realms of
// keys.
#include "core/server/jobs/job_reader.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace weft::server {

namespace {

/// Where a key belongs that a host gives beside the arrays, if that is not the job.
std::optional<store::Realm> own_realm_of(std::string_view key) noexcept {
  for (const std::string_view session :
       {PMIX_SESSION_ID, PMIX_UNIV_SIZE, PMIX_CLUSTER_ID, PMIX_TMPDIR, PMIX_TDIR_RMCLEAN,
        PMIX_HOSTNAME_KEEP_FQDN, PMIX_RM_NAME, PMIX_RM_VERSION})
    if (key == session) return store::Realm::session;
  for (const std::string_view node : {PMIX_HOSTNAME, PMIX_HOSTNAME_ALIASES, PMIX_NODE_SIZE,
                                      PMIX_AVAIL_PHYS_MEMORY, PMIX_LOCAL_PROCS, PMIX_NODE_OVERSUBSCRIBED})
    if (key == node) return store::Realm::node;
  for (const std::string_view app :
       {PMIX_APPLDR, PMIX_APP_SIZE, PMIX_APP_ARGV, PMIX_APP_MAP_TYPE, PMIX_APP_MAP_REGEX, PMIX_WDIR})
    if (key == app) return store::Realm::app;
  return std::nullopt;
}

}  // namespace

/// Applications of the ranks, where the host did not say them rank by rank.
Result<void> JobReader::place_apps() {
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
      if (rank >= spec_.ranks.size()) return refuse(app_ranks_key, "has a rank outside the job");
      if (spec_.ranks[rank].appnum == none) spec_.ranks[rank].appnum = app.number;
    }
  }
  std::uint32_t highest = 0;
  for (const auto& entry : spec_.ranks)
    if (entry.appnum != none) highest = std::max(highest, entry.appnum);
  for (const auto& app : app_arrays_) highest = std::max(highest, app.number);
  spec_.apps = std::max(apps_ != none ? apps_ : 1, highest + 1);
  if (spec_.apps > max_ranks) return refuse(PMIX_APPNUM, "is more than any machine has");
  if (spec_.apps == 1)
    for (auto& entry : spec_.ranks) entry.appnum = 0;
  return {};
}

/// The nodes of the ranks, from the process map where there is one.
Result<void> JobReader::place() {
  if (!node_names_.empty() && ranks_of_node_.size() > node_names_.size())
    return refuse(PMIX_PROC_MAP, "has more nodes than PMIX_NODE_MAP");
  std::vector<bool> is_placed;
  for (std::uint32_t n = 0; n < ranks_of_node_.size(); ++n)
    for (const auto rank : ranks_of_node_[n]) {
      if (size_ != none && rank >= size_) return refuse(PMIX_PROC_MAP, "has a rank above PMIX_JOB_SIZE");
      if (auto ok = grow(rank + 1); !ok) return ok;
      if (is_placed.size() <= rank) is_placed.resize(rank + 1);
      if (is_placed[rank]) return refuse(PMIX_PROC_MAP, "has a rank twice");
      is_placed[rank] = true;
      spec_.ranks[rank].node = n;
    }
  if (my_node_ == none) {
    const auto mine = node_named(host_);
    my_node_ = mine == none ? 0 : mine;
  }
  return {};
}

/// Every node that anything names.
Result<void> JobReader::count_nodes() {
  std::uint32_t highest = my_node_;
  for (const auto& entry : spec_.ranks)
    if (entry.node != none) highest = std::max(highest, entry.node);
  if (highest >= max_ranks || (cluster_ != none && cluster_ > max_ranks))
    return refuse(PMIX_NODEID, "is more than any machine has");
  spec_.nodes = std::max(
      {cluster_ == none ? 1 : cluster_, highest + 1, static_cast<std::uint32_t>(node_names_.size())});
  if (spec_.nodes == 1)
    for (auto& entry : spec_.ranks) entry.node = 0;
  if (node_names_.empty())
    spec_.keys.push_back({{Realm::node, my_node_}, PMIX_HOSTNAME, data::Value::of(host_)});
  spec_.node_names = std::move(node_names_);
  spec_.my_node = my_node_;
  return {};
}

/// Derives what the host left out from the order of the ranks: on their node, in their application, in the
/// job.
void JobReader::derive_ranks() {
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

/// Ranks of this node: registered clients and PMIX_LOCAL_PEERS, else what the map says.
Result<void> JobReader::place_locals(int local_size, const std::set<std::uint32_t>& registered) {
  std::set<std::uint32_t> local(registered), mapped;
  local.insert(peers_.begin(), peers_.end());
  for (std::uint32_t r = 0; r < spec_.ranks.size(); ++r)
    if (spec_.ranks[r].node == my_node_) mapped.insert(r);
  // A fence would wait for ranks that the host does not start, or not wait for those that it starts.
  const auto said = static_cast<std::size_t>(std::max(local_size, 0));
  const auto here = my_node_ < ranks_of_node_.size() ? ranks_of_node_[my_node_].size() : 0;
  if (said != 0 && here != 0 && here != said)
    return refuse(PMIX_PROC_MAP, "has " + std::to_string(here) +
                                     " ranks on this node, and the number of local processes is " +
                                     std::to_string(said));
  if (said != 0 && !peers_.empty() && peers_.size() != said)
    return refuse(PMIX_LOCAL_PEERS, "has " + std::to_string(peers_.size()) +
                                        " ranks, and the number of local processes is " +
                                        std::to_string(said));
  if (local.empty() && said != 0) local = mapped;
  for (const auto rank : local) {
    if (rank >= spec_.ranks.size()) return refuse(PMIX_LOCAL_PEERS, "has a rank outside the job");
    spec_.ranks[rank].node = my_node_;
  }
  spec_.local_ranks.assign(local.begin(), local.end());
  spec_.local_capacity = static_cast<std::uint32_t>(std::max(said, spec_.local_ranks.size()));
  return {};
}

/// Keys that a host gave beside the arrays go where a Get that names the realm looks for them.
void JobReader::settle_realms() {
  for (auto& key : spec_.keys) {
    if (key.owner.realm != Realm::job) continue;
    const auto realm = own_realm_of(key.key).value_or(Realm::job);
    if (realm == Realm::session) key.owner = store::own_session;
    if (realm == Realm::node) key.owner = {Realm::node, my_node_};
    if (realm == Realm::app && spec_.apps == 1) key.owner = {Realm::app, 0};
  }
  if (!has_data_) spec_.keys.clear();
}

Result<void> JobReader::finish(int local_size, const std::set<std::uint32_t>& registered) {
  if (size_ != none)
    if (auto ok = grow(size_); !ok) return ok;
  if (!registered.empty())
    if (auto ok = grow(*registered.rbegin() + 1); !ok) return ok;
  if (auto ok = place(); !ok) return ok;
  if (auto ok = read_sessions(); !ok) return ok;
  for (const auto* array : nodes_)
    if (auto ok = node(*array); !ok) return ok;
  for (const auto* array : processes_)
    if (auto ok = process(*array); !ok) return ok;
  for (const auto* array : applications_)
    if (auto ok = application(*array); !ok) return ok;
  if (auto ok = count_nodes(); !ok) return ok;
  if (auto ok = place_apps(); !ok) return ok;
  derive_ranks();
  if (auto ok = place_locals(local_size, registered); !ok) return ok;
  settle_realms();
  return {};
}

}  // namespace weft::server
