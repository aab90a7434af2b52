// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/job_keys.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace weft::store {
namespace {

using data::Value;
using Compute = Result<Value> (*)(const JobView&, std::uint32_t index);

Result<Value> number(std::uint32_t v) {
  if (v == none) return fail(Errc::not_found);
  return Value::of(v);
}
Result<Value> small(std::uint16_t v) {
  if (v == none16) return fail(Errc::not_found);
  return Value::of(v);
}
Result<Value> a_rank(std::uint32_t v) {
  if (v == none) return fail(Errc::not_found);
  return Value::of_rank(v);
}

Result<Value> text(const std::string& v) {
  if (v.empty()) return fail(Errc::not_found);
  return Value::of(std::string_view(v));
}

void append_list(std::string& out, std::span<const std::uint32_t> ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i != 0) out += ',';
    out += std::to_string(ranks[i]);
  }
}

Result<Value> peers(const JobView& job, std::uint32_t node) {
  std::string list;
  append_list(list, job.ranks_on(node));
  return text(list);
}

Result<Value> size_of_node(const JobView& job, std::uint32_t node) {
  return Value::of(static_cast<std::uint32_t>(job.ranks_on(node).size()));
}

Result<Value> leader(const JobView& job, std::uint32_t node) {
  const auto there = job.ranks_on(node);
  return there.empty() ? Result<Value>(fail(Errc::not_found)) : Value::of_rank(there.front());
}

/// The job level uses what the host registered for this node; a rank elsewhere has other peers.
template <Compute compute>
Result<Value> elsewhere(const JobView& job, std::uint32_t rank) {
  const auto node = job.rank(rank)->node;
  if (node == none || node == job.my_node()) return fail(Errc::not_found);
  return compute(job, node);
}

Result<Value> host_name(const JobView& job, std::uint32_t node) {
  if (const auto name = job.node_name(node); !name.empty()) return Value::of(name);
  static const auto hash = hash_key(PMIX_HOSTNAME);
  const auto record = job.find_info({Realm::node, node}, PMIX_HOSTNAME, hash);
  if (!record) return fail(record.error());
  data::Reader in(record->value);
  return Value::decode(in);
}

std::string name_of(const JobView& job, std::uint32_t node) {
  const auto host = host_name(job, node);
  if (!host || host->get().type != PMIX_STRING || host->get().data.string == nullptr) return {};
  return host->get().data.string;
}

/// "0,1;2,3": the ranks of each node.
Result<Value> ranks_by_node(const JobView& job, std::uint32_t) {
  std::string out;
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    if (node != 0) out += ';';
    append_list(out, job.ranks_on(node));
  }
  return text(out);
}

/// PMIX_ANL_MAP in the format of PMI-1: "(vector,(first node, nodes, ranks on each),...)" in the order of the
/// ranks.
Result<Value> vector_map(const JobView& job, std::uint32_t) {
  struct Block {
    std::uint32_t first, nodes, each;
  } open{0, 0, 0};
  std::string out = "(vector";
  const auto close = [&] {
    if (open.nodes != 0)
      out += ",(" + std::to_string(open.first) + ',' + std::to_string(open.nodes) + ',' +
             std::to_string(open.each) + ')';
  };
  for (std::uint32_t r = 0, end = 0; r < job.ranks(); r = end) {
    const auto node = job.rank(r)->node;
    if (node == none) return fail(Errc::not_found);
    while (end < job.ranks() && job.rank(end)->node == node) ++end;
    if (end == r) return fail(Errc::not_found);  // the job is being retired: it changed during this call
    if (open.nodes != 0 && open.each == end - r && open.first + open.nodes == node) {
      ++open.nodes;
      continue;
    }
    close();
    open = {node, 1, end - r};
  }
  close();
  return text(open.nodes == 0 ? std::string() : out + ')');
}

/// The position of rank 0 in the session, if the ranks of the job are consecutive there.
Result<Value> offset_of_job(const JobView& job, std::uint32_t) {
  return job.ranks() == 0 ? Result<Value>(fail(Errc::not_found)) : a_rank(job.rank(0)->global_rank);
}

struct Entry {
  Realm realm;
  std::string_view key;
  Compute compute;
};

// RankEntry fields first: a starting process reads these most often.
const Entry entries[] = {
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
    {Realm::rank, PMIX_LOCAL_PEERS, elsewhere<peers>},
    {Realm::rank, PMIX_LOCAL_SIZE, elsewhere<size_of_node>},
    {Realm::rank, PMIX_NODE_SIZE, elsewhere<size_of_node>},
    {Realm::rank, PMIX_LOCALLDR, elsewhere<leader>},
    {Realm::job, PMIX_JOB_SIZE, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_NUM_NODES, [](const JobView& j, std::uint32_t) { return number(j.nodes()); }},
    {Realm::job, PMIX_JOB_NUM_APPS, [](const JobView& j, std::uint32_t) { return number(j.apps()); }},
    {Realm::job, PMIX_MAX_PROCS, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_UNIV_SIZE, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_NODEID, [](const JobView& j, std::uint32_t) { return number(j.my_node()); }},
    {Realm::job, PMIX_HOSTNAME, [](const JobView& j, std::uint32_t) { return host_name(j, j.my_node()); }},
    {Realm::job, PMIX_LOCAL_SIZE,
     [](const JobView& j, std::uint32_t) { return size_of_node(j, j.my_node()); }},
    {Realm::job, PMIX_LOCAL_PEERS, [](const JobView& j, std::uint32_t) { return peers(j, j.my_node()); }},
    {Realm::job, PMIX_LOCALLDR, [](const JobView& j, std::uint32_t) { return leader(j, j.my_node()); }},
    {Realm::job, PMIX_NPROC_OFFSET, offset_of_job},
    {Realm::job, PMIX_NODE_LIST, [](const JobView& j, std::uint32_t) { return text(node_names(j)); }},
    {Realm::job, PMIX_NODE_MAP_RAW, [](const JobView& j, std::uint32_t) { return text(node_names(j)); }},
    {Realm::job, PMIX_PROC_MAP_RAW, ranks_by_node},
    {Realm::job, PMIX_ANL_MAP, vector_map},
    {Realm::node, PMIX_HOSTNAME, host_name},
    {Realm::node, PMIX_LOCAL_SIZE, size_of_node},
    {Realm::node, PMIX_NODE_SIZE, size_of_node},
    {Realm::node, PMIX_LOCAL_PEERS, peers},
    {Realm::node, PMIX_LOCALLDR, leader},
    {Realm::node, PMIX_NODEID, [](const JobView&, std::uint32_t node) { return number(node); }},
    {Realm::app, PMIX_APP_SIZE,
     [](const JobView& j, std::uint32_t app) {
       const auto size = j.app(app).size;
       return number(size == 0 ? none : size);
     }},
    {Realm::app, PMIX_APPLDR, [](const JobView& j, std::uint32_t app) { return a_rank(j.app(app).leader); }},
    {Realm::app, PMIX_APPNUM, [](const JobView&, std::uint32_t app) { return number(app); }},
};

/// Entries by hash, open addressing: a miss costs one load.
class Index {
 public:
  Index() {
    slots_.fill(-1);
    for (std::size_t i = 0; i < std::size(entries); ++i) {
      auto at = slot(hash_key(entries[i].key), entries[i].realm);
      while (slots_[at] >= 0) at = (at + 1) % slots_.size();
      slots_[at] = static_cast<std::int8_t>(i);
    }
  }
  const Entry* find(Realm realm, std::string_view key, std::uint64_t hash) const noexcept {
    for (auto at = slot(hash, realm); slots_[at] >= 0; at = (at + 1) % slots_.size()) {
      const auto& entry = entries[slots_[at]];
      if (entry.realm == realm && entry.key == key) return &entry;
    }
    return nullptr;
  }

 private:
  static std::size_t slot(std::uint64_t hash, Realm realm) noexcept {
    return (hash + static_cast<std::uint64_t>(realm) * 31) % 128;
  }
  std::array<std::int8_t, 128> slots_;
};

bool exists(const JobView& job, KeyOwner owner) noexcept {
  switch (owner.realm) {
    case Realm::rank:
      return owner.index < job.ranks();
    case Realm::node:
      return owner.index < job.nodes();
    case Realm::app:
      return owner.index < job.apps();
    case Realm::job:
      return true;
    case Realm::session:
      return false;
  }
  return false;
}

}  // namespace

Result<Value> compute_key(const JobView& job, KeyOwner owner, std::string_view key, std::uint64_t hash) {
  static const Index index;
  if (!exists(job, owner)) return fail(Errc::not_found);
  const auto* entry = index.find(owner.realm, key, hash);
  if (entry == nullptr) return fail(Errc::not_found);
  return entry->compute(job, owner.index);
}

void compute_all(const JobView& job, KeyOwner owner, data::Infos& out) {
  if (!exists(job, owner)) return;
  for (const auto& entry : entries) {
    if (entry.realm != owner.realm || out.find(entry.key) != nullptr) continue;
    if (auto value = entry.compute(job, owner.index)) out.add(entry.key, std::move(*value));
  }
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
    const auto known = job.node_name(node);
    if (known.empty() ? name == name_of(job, node) : name == known) return node;
  }
  return none;
}

}  // namespace weft::store
