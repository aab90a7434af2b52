// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/job_keys.hpp"

#include <array>
#include <string>
#include <utility>

#include "core/data/node_map.hpp"
#include "core/store/get/job_key_values.hpp"

namespace weft::store {
namespace {

using namespace key_values;

/// The job level uses what the host registered for this node; a rank elsewhere has other peers.
template <Compute compute>
Result<Value> elsewhere(const JobView& job, std::uint32_t rank) {
  const auto node = job.rank(rank)->node;
  if (node == none || node == job.my_node()) return fail(Errc::not_found);
  return compute(job, node);
}

/// A key of a node that only this node itself can compute; not found for others.
template <Compute compute>
Result<Value> of_this_node(const JobView& job, std::uint32_t node) {
  return node == job.my_node() ? compute(job, node) : fail(Errc::not_found);
}

struct Entry {
  Realm realm;
  std::string_view key;
  Compute compute;
};

// RankEntry fields first: a starting process reads these most often.
const Entry known_keys[] = {
    {Realm::rank, PMIX_LOCAL_RANK,
     [](const JobView& j, std::uint32_t r) { return small(j.rank(r)->local_rank); }},
    {Realm::rank, PMIX_NODE_RANK,
     [](const JobView& j, std::uint32_t r) { return small(j.rank(r)->node_rank); }},
    {Realm::rank, PMIX_NODEID, [](const JobView& j, std::uint32_t r) { return number(j.rank(r)->node); }},
    {Realm::rank, PMIX_APPNUM, [](const JobView& j, std::uint32_t r) { return number(j.rank(r)->appnum); }},
    {Realm::rank, PMIX_APP_RANK,
     [](const JobView& j, std::uint32_t r) { return a_rank(j.rank(r)->app_rank); }},
    {Realm::rank, PMIX_GLOBAL_RANK,
     [](const JobView& j, std::uint32_t r) { return a_rank(j.rank(r)->global_rank); }},
    {Realm::rank, PMIX_RANK, [](const JobView&, std::uint32_t r) { return a_rank(r); }},
    {Realm::rank, PMIX_HOSTNAME,
     [](const JobView& j, std::uint32_t r) { return host_name(j, j.rank(r)->node); }},
    // A host that restarts processes registers this key; all other processes are the first of their rank.
    {Realm::rank, PMIX_REINCARNATION, [](const JobView&, std::uint32_t) { return number(0); }},
    {Realm::rank, PMIX_SPAWNED, was_spawned},
    {Realm::rank, PMIX_PACKAGE_RANK, package_rank},
    {Realm::rank, PMIX_PROCDIR, folder_of_rank},
    {Realm::rank, PMIX_LOCAL_PEERS, elsewhere<peers>},
    {Realm::rank, PMIX_LOCAL_SIZE, elsewhere<size_of_node>},
    {Realm::rank, PMIX_NODE_SIZE, elsewhere<size_of_node>},
    {Realm::rank, PMIX_LOCALLDR, elsewhere<leader>},
    {Realm::job, PMIX_NSPACE, [](const JobView& j, std::uint32_t) { return text(std::string(j.nspace())); }},
    {Realm::job, PMIX_JOB_SIZE, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_NUM_NODES, [](const JobView& j, std::uint32_t) { return number(j.nodes()); }},
    {Realm::job, PMIX_JOB_NUM_APPS, [](const JobView& j, std::uint32_t) { return number(j.index().apps()); }},
    {Realm::job, PMIX_MAX_PROCS, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_NUM_SLOTS, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_JOBID, [](const JobView& j, std::uint32_t) { return text(std::string(j.nspace())); }},
    {Realm::job, PMIX_LOCAL_SIZE,
     [](const JobView& j, std::uint32_t) { return size_of_node(j, j.my_node()); }},
    {Realm::job, PMIX_LOCAL_PEERS, [](const JobView& j, std::uint32_t) { return peers(j, j.my_node()); }},
    {Realm::job, PMIX_LOCALLDR, [](const JobView& j, std::uint32_t) { return leader(j, j.my_node()); }},
    {Realm::job, PMIX_NPROC_OFFSET, offset_of_job},
    {Realm::job, PMIX_NSDIR, folder_of_job},
    {Realm::job, PMIX_NODE_LIST, [](const JobView& j, std::uint32_t) { return text(node_names(j)); }},
    {Realm::job, PMIX_NODE_MAP, [](const JobView& j, std::uint32_t) { return text(node_names(j)); }},
    {Realm::job, PMIX_NODE_MAP_RAW, [](const JobView& j, std::uint32_t) { return text(node_names(j)); }},
    {Realm::job, PMIX_ALLOCATED_NODELIST,
     [](const JobView& j, std::uint32_t) { return node_list_of_session(j, 0); }},
    {Realm::job, PMIX_NUM_ALLOCATED_NODES,
     [](const JobView& j, std::uint32_t) { return node_count_of_session(j, 0); }},
    {Realm::job, PMIX_PROC_MAP, ranks_by_node},
    {Realm::job, PMIX_PROC_MAP_RAW, ranks_by_node},
    {Realm::job, PMIX_ANL_MAP, vector_map},
    {Realm::session, PMIX_SESSION_ID, id_of_session},
    {Realm::session, PMIX_TMPDIR, folder_of_session},
    {Realm::session, PMIX_TDIR_RMCLEAN, is_session_folder_removed},
    {Realm::session, PMIX_UNIV_SIZE, size_of_session},
    {Realm::session, PMIX_MAX_PROCS, size_of_session},
    {Realm::session, PMIX_NUM_SLOTS, size_of_session},
    {Realm::session, PMIX_NUM_NODES, node_count_of_session},
    {Realm::session, PMIX_NODE_LIST, node_list_of_session},
    {Realm::session, PMIX_NODE_MAP, node_list_of_session},
    {Realm::session, PMIX_NODE_MAP_RAW, node_list_of_session},
    {Realm::session, PMIX_ALLOCATED_NODELIST, node_list_of_session},
    {Realm::session, PMIX_NUM_ALLOCATED_NODES, node_count_of_session},
    {Realm::node, PMIX_HOSTNAME, host_name},
    {Realm::node, PMIX_MAX_PROCS, capacity_of_node},
    {Realm::node, PMIX_NODE_OVERSUBSCRIBED, is_node_oversubscribed},
    {Realm::node, PMIX_LOCAL_PROCS, procs_of_node},
    {Realm::node, PMIX_LOCAL_CPUSETS, cpusets_of_node},
    {Realm::node, PMIX_HOSTNAME_ALIASES, host_name},
    {Realm::node, PMIX_TMPDIR, of_this_node<folder_of_session>},
    {Realm::node, PMIX_NSDIR, of_this_node<folder_of_job>},
    {Realm::node, PMIX_LOCAL_SIZE, size_of_node},
    {Realm::node, PMIX_NODE_SIZE, size_of_node},
    {Realm::node, PMIX_LOCAL_PEERS, peers},
    {Realm::node, PMIX_LOCALLDR, leader},
    {Realm::node, PMIX_NODEID, [](const JobView&, std::uint32_t node) { return number(node); }},
    {Realm::app, PMIX_APP_SIZE, size_of_app},
    {Realm::app, PMIX_MAX_PROCS, size_of_app},
    {Realm::app, PMIX_NUM_SLOTS, size_of_app},
    {Realm::app, PMIX_LOCAL_SIZE, local_size_of_app},
    {Realm::app, PMIX_NUM_NODES, node_count_of_app},
    {Realm::app, PMIX_NODE_LIST, node_list_of_app},
    {Realm::app, PMIX_NODE_MAP, node_list_of_app},
    {Realm::app, PMIX_NODE_MAP_RAW, node_list_of_app},
    {Realm::app, PMIX_PROC_MAP, ranks_of_app},
    {Realm::app, PMIX_PROC_MAP_RAW, ranks_of_app},
    {Realm::app, PMIX_APP_MAP_REGEX, ranks_of_app},
    {Realm::app, PMIX_APPLDR,
     [](const JobView& j, std::uint32_t app) { return a_rank(j.index().app(app).leader); }},
    {Realm::app, PMIX_APPNUM, [](const JobView&, std::uint32_t app) { return number(app); }},
};

/// Entries by hash, open addressing: a miss costs one load.
class Index {
 public:
  Index() {
    slots_.fill(-1);
    for (std::size_t i = 0; i < std::size(known_keys); ++i) {
      auto at = slot(hash_key(known_keys[i].key), known_keys[i].realm);
      while (slots_[at] >= 0) at = (at + 1) % slots_.size();
      slots_[at] = static_cast<std::int8_t>(i);
    }
  }
  const Entry* find(Realm realm, std::string_view key, std::uint64_t hash) const noexcept {
    for (auto at = slot(hash, realm); slots_[at] >= 0; at = (at + 1) % slots_.size()) {
      const auto& entry = known_keys[slots_[at]];
      if (entry.realm == realm && entry.key == key) return &entry;
    }
    return nullptr;
  }

 private:
  static std::size_t slot(std::uint64_t hash, Realm realm) noexcept {
    return (hash + static_cast<std::uint64_t>(realm) * 31) % 256;
  }
  std::array<std::int8_t, 256> slots_;
};

bool exists(const JobView& job, KeyOwner owner) noexcept {
  switch (owner.realm) {
    case Realm::rank:
      return owner.index < job.ranks();
    case Realm::node:
      return owner.index < job.nodes();
    case Realm::app:
      return owner.index < job.index().apps();
    case Realm::job:
      return true;
    case Realm::session:
      return true;
  }
  return false;
}

}  // namespace

KeyOwner session_owner(const JobView& job, std::uint32_t session) {
  auto own = stored(job, own_session, PMIX_SESSION_ID);
  if (!own) own = stored(job, {Realm::job, 0}, PMIX_SESSION_ID);
  const auto id = own ? data::as_unsigned(own->get()) : fail(own.error());
  if (id && *id == session) return own_session;
  return {Realm::session, session == own_session.index ? none : session};
}

Result<Value> compute_key(const JobView& job, KeyOwner owner, std::string_view key, std::uint64_t hash) {
  static const Index index;
  if (!exists(job, owner)) return fail(Errc::not_found);
  const auto* entry = index.find(owner.realm, key, hash);
  if (entry == nullptr) return fail(Errc::not_found);
  return entry->compute(job, owner.index);
}

void compute_all(const JobView& job, KeyOwner owner, data::Infos& out) {
  if (!exists(job, owner)) return;
  for (const auto& entry : known_keys) {
    if (entry.realm != owner.realm || out.find(entry.key) != nullptr) continue;
    if (auto value = entry.compute(job, owner.index)) out.add(entry.key, std::move(*value));
  }
}

std::string scratch_folder(const JobView& job) {
  const auto folder = folder_of_session(job, 0);
  return folder ? std::string(data::map_text(folder->get())) : std::string();
}

std::string node_names(const JobView& job) {
  std::string out;
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    const auto name = name_of(job, node);
    if (!out.empty() && !name.empty()) out += ',';
    out += name;
  }
  return out;
}

std::uint32_t node_by_name(const JobView& job, std::string_view name) {
  if (name.empty()) return none;
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    const auto known = job.index().name_of(node);
    if (known.empty() ? name == name_of(job, node) : name == known) return node;
  }
  return none;
}

}  // namespace weft::store
