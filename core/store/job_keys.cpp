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

Result<Value> peers(const JobView& job, std::uint32_t node) {
  std::string text;
  for (const auto rank : ranks_on(job, node)) {
    if (!text.empty()) text += ',';
    text += std::to_string(rank);
  }
  if (text.empty()) return fail(Errc::not_found);
  return Value::of(std::string_view(text));
}

Result<Value> size_of_node(const JobView& job, std::uint32_t node) {
  return Value::of(static_cast<std::uint32_t>(ranks_on(job, node).size()));
}

Result<Value> leader(const JobView& job, std::uint32_t node) {
  const auto here = ranks_on(job, node);
  return here.empty() ? Result<Value>(fail(Errc::not_found)) : Value::of_rank(here.front());
}

Result<Value> host_name(const JobView& job, std::uint32_t node) {
  static const auto hash = hash_key(PMIX_HOSTNAME);
  const auto record = job.find_info({Realm::node, node}, PMIX_HOSTNAME, hash);
  if (!record) return tl::unexpected(record.error());
  data::Reader in(record->value);
  return Value::decode(in);
}

template <class Pick>
std::uint32_t count_app(const JobView& job, std::uint32_t app, Pick pick) {
  std::uint32_t found = none;
  std::uint32_t count = 0;
  for (std::uint32_t r = 0; r < job.ranks(); ++r)
    if (job.rank(r)->appnum == app && count++ == 0) found = r;
  return pick(count, found);
}

struct Entry {
  Realm realm;
  std::string_view key;
  Compute compute;
};

// RankEntry fields first: they are what a starting process asks for most.
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
    {Realm::job, PMIX_JOB_SIZE, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_NUM_NODES, [](const JobView& j, std::uint32_t) { return number(j.nodes()); }},
    {Realm::job, PMIX_JOB_NUM_APPS, [](const JobView& j, std::uint32_t) { return number(j.header().apps); }},
    {Realm::job, PMIX_MAX_PROCS, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_UNIV_SIZE, [](const JobView& j, std::uint32_t) { return number(j.ranks()); }},
    {Realm::job, PMIX_NODEID, [](const JobView& j, std::uint32_t) { return number(j.my_node()); }},
    {Realm::job, PMIX_HOSTNAME, [](const JobView& j, std::uint32_t) { return host_name(j, j.my_node()); }},
    {Realm::job, PMIX_LOCAL_SIZE,
     [](const JobView& j, std::uint32_t) { return size_of_node(j, j.my_node()); }},
    {Realm::job, PMIX_LOCAL_PEERS, [](const JobView& j, std::uint32_t) { return peers(j, j.my_node()); }},
    {Realm::job, PMIX_LOCALLDR, [](const JobView& j, std::uint32_t) { return leader(j, j.my_node()); }},
    {Realm::job, PMIX_NODE_LIST,
     [](const JobView& j, std::uint32_t) {
       const auto names = node_names(j);
       return names.empty() ? Result<Value>(fail(Errc::not_found)) : Value::of(std::string_view(names));
     }},
    {Realm::node, PMIX_LOCAL_SIZE, size_of_node},
    {Realm::node, PMIX_LOCAL_PEERS, peers},
    {Realm::node, PMIX_LOCALLDR, leader},
    {Realm::node, PMIX_NODEID, [](const JobView&, std::uint32_t node) { return number(node); }},
    {Realm::app, PMIX_APP_SIZE,
     [](const JobView& j, std::uint32_t app) {
       return number(count_app(j, app, [](std::uint32_t n, std::uint32_t) { return n == 0 ? none : n; }));
     }},
    {Realm::app, PMIX_APPLDR,
     [](const JobView& j, std::uint32_t app) {
       return a_rank(count_app(j, app, [](std::uint32_t, std::uint32_t first) { return first; }));
     }},
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

bool exists(const JobView& job, Subject subject) noexcept {
  switch (subject.realm) {
    case Realm::rank:
      return subject.index < job.ranks();
    case Realm::node:
      return subject.index < job.nodes();
    case Realm::app:
      return subject.index < job.header().apps;
    case Realm::job:
      return true;
    case Realm::session:
      return false;
  }
  return false;
}

}  // namespace

Result<Value> compute_key(const JobView& job, Subject subject, std::string_view key, std::uint64_t hash) {
  static const Index index;
  if (!exists(job, subject)) return fail(Errc::not_found);
  const auto* entry = index.find(subject.realm, key, hash);
  if (entry == nullptr) return fail(Errc::not_found);
  return entry->compute(job, subject.index);
}

void compute_all(const JobView& job, Subject subject, data::Infos& out) {
  if (!exists(job, subject)) return;
  for (const auto& entry : entries) {
    if (entry.realm != subject.realm || out.find(entry.key) != nullptr) continue;
    if (auto value = entry.compute(job, subject.index)) out.add(entry.key, std::move(*value));
  }
}

std::vector<std::uint32_t> ranks_on(const JobView& job, std::uint32_t node) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t r = 0; r < job.ranks(); ++r)
    if (job.rank(r)->node == node) out.push_back(r);
  return out;
}

std::string node_names(const JobView& job) {
  std::string out;
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    const auto host = host_name(job, node);
    if (!host || host->get().type != PMIX_STRING || host->get().data.string == nullptr) continue;
    if (!out.empty()) out += ',';
    out += host->get().data.string;
  }
  return out;
}

std::uint32_t node_by_name(const JobView& job, std::string_view name) {
  for (std::uint32_t node = 0; node < job.nodes(); ++node) {
    const auto host = host_name(job, node);
    if (host && host->get().type == PMIX_STRING && host->get().data.string != nullptr &&
        name == host->get().data.string)
      return node;
  }
  return none;
}

}  // namespace weft::store
