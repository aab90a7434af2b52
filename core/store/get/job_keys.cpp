// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/job_keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/data/node_map.hpp"

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
  if (const auto name = job.index().name_of(node); !name.empty()) return Value::of(name);
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

/// The value that the host registered; nothing is computed.
Result<Value> stored(const JobView& job, KeyOwner owner, std::string_view key) {
  const auto record = job.find_info(owner, key, hash_key(key));
  if (!record) return fail(record.error());
  data::Reader in(record->value);
  return Value::decode(in);
}

/// The first of these keys that the host registered for the owner.
Result<Value> first_stored(const JobView& job, KeyOwner owner, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    if (auto value = stored(job, owner, key)) return value;
  return fail(Errc::not_found);
}

// ---- sessions

/// PMIX_UNIV_SIZE, PMIX_MAX_PROCS and PMIX_NUM_SLOTS are names of one number.
Result<Value> size_of_session(const JobView& job, std::uint32_t session) {
  const auto most = {std::string_view(PMIX_UNIV_SIZE), std::string_view(PMIX_MAX_PROCS),
                     std::string_view(PMIX_NUM_SLOTS)};
  if (auto value = first_stored(job, {Realm::session, session}, most)) return value;
  if (session != 0) return fail(Errc::not_found);
  auto value = first_stored(job, {Realm::job, 0}, {PMIX_UNIV_SIZE});
  return value ? std::move(value) : number(job.ranks());
}

/// Names of the nodes of a session, separated by commas: as the host registered them, else those of the job.
Result<std::string> nodes_of_session(const JobView& job, std::uint32_t session) {
  const auto list =
      first_stored(job, {Realm::session, session}, {PMIX_NODE_LIST, PMIX_NODE_MAP_RAW, PMIX_NODE_MAP});
  if (!list) return session == 0 ? Result<std::string>(node_names(job)) : fail(Errc::not_found);
  const auto names = data::parse_node_map(data::map_text(list->get()));
  if (!names) return fail(Errc::not_found);
  std::string out;
  for (const auto& name : *names) out += (out.empty() ? "" : ",") + name;
  return out;
}

Result<Value> node_list_of_session(const JobView& job, std::uint32_t session) {
  const auto names = nodes_of_session(job, session);
  return names ? text(*names) : fail(names.error());
}

Result<Value> node_count_of_session(const JobView& job, std::uint32_t session) {
  const auto names = nodes_of_session(job, session);
  if (session == 0 && (!names || names->empty())) return number(job.nodes());
  if (!names) return fail(names.error());
  return number(static_cast<std::uint32_t>(std::count(names->begin(), names->end(), ',')) + 1);
}

Result<Value> id_of_session(const JobView& job, std::uint32_t session) {
  if (session != 0) return number(session == none ? 0 : session);
  return stored(job, {Realm::job, 0}, PMIX_SESSION_ID);
}

// ---- applications

/// Calls see(node, rank) for each rank of the application that has a node, in order of the ranks.
template <class See>
void each_of_app(const JobView& job, std::uint32_t app, See&& see) {
  for (std::uint32_t r = 0; r < job.ranks(); ++r)
    if (const auto& entry = *job.rank(r); entry.appnum == app && entry.node < job.nodes()) see(entry.node, r);
}

/// By node: the ranks of an application; nodes without one are left out.
std::map<std::uint32_t, std::vector<std::uint32_t>> map_of_app(const JobView& job, std::uint32_t app) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> out;
  each_of_app(job, app, [&](std::uint32_t node, std::uint32_t rank) { out[node].push_back(rank); });
  return out;
}

Result<Value> node_count_of_app(const JobView& job, std::uint32_t app) {
  const auto count = map_of_app(job, app).size();
  return count == 0 ? fail(Errc::not_found) : number(static_cast<std::uint32_t>(count));
}

Result<Value> node_list_of_app(const JobView& job, std::uint32_t app) {
  std::string out;
  for (const auto& [node, ranks] : map_of_app(job, app)) out += (out.empty() ? "" : ",") + name_of(job, node);
  return text(out);
}

Result<Value> ranks_of_app(const JobView& job, std::uint32_t app) {
  std::string out;
  for (const auto& [node, ranks] : map_of_app(job, app)) {
    if (!out.empty()) out += ';';
    append_list(out, ranks);
  }
  return text(out);
}

Result<Value> size_of_app(const JobView& job, std::uint32_t app) {
  const auto size = job.index().app(app).size;
  return number(size == 0 ? none : size);
}

/// On this node.
Result<Value> local_size_of_app(const JobView& job, std::uint32_t app) {
  std::uint32_t count = 0;
  each_of_app(job, app, [&](std::uint32_t node, std::uint32_t) { count += node == job.my_node() ? 1 : 0; });
  return number(count);
}

// ---- nodes

/// The job says it of all nodes in one text, "2*8,1*4": two nodes of eight, then one of four.
Result<Value> slots_of_node(const JobView& job, std::uint32_t node) {
  const auto all = stored(job, {Realm::job, 0}, "weft.node.slots");
  if (!all) return fail(all.error());
  auto text = data::map_text(all->get());
  for (std::uint64_t before = 0; !text.empty();) {
    std::uint32_t nodes = 0, slots = 0;
    const auto* const end = text.data() + text.size();
    const auto times = std::from_chars(text.data(), end, nodes);
    if (times.ec != std::errc{} || times.ptr == end || *times.ptr != '*') break;
    const auto number_end = std::from_chars(times.ptr + 1, end, slots);
    if (number_end.ec != std::errc{} || (number_end.ptr != end && *number_end.ptr != ',')) break;
    before += nodes;
    if (node < before) return number(slots);
    text = number_end.ptr == end ? std::string_view() : text.substr(number_end.ptr + 1 - text.data());
  }
  return fail(Errc::not_found);
}

Result<Value> known_slots(const JobView& job, std::uint32_t node,
                          std::initializer_list<std::string_view> keys) {
  auto slots = first_stored(job, {Realm::node, node}, keys);
  return slots ? std::move(slots) : slots_of_node(job, node);
}

/// At least as many as run there can.
Result<Value> capacity_of_node(const JobView& job, std::uint32_t node) {
  auto slots = known_slots(job, node, {PMIX_NUM_SLOTS});
  return slots ? std::move(slots) : size_of_node(job, node);
}

Result<Value> is_node_oversubscribed(const JobView& job, std::uint32_t node) {
  const auto slots = known_slots(job, node, {PMIX_NUM_SLOTS, PMIX_MAX_PROCS});
  const auto most = slots ? data::as_unsigned(slots->get()) : fail(slots.error());
  if (!most) return fail(Errc::not_found);
  return Value::of(job.ranks_on(node).size() > *most);
}

/// A PMIX_DATA_ARRAY of `count` elements, each from make(i), which gives away what it owns.
template <class Element, class Make>
Result<Value> make_array(pmix_data_type_t type, std::size_t count, Make&& make) {
  if (count == 0) return fail(Errc::not_found);
  auto* array = static_cast<pmix_data_array_t*>(std::calloc(1, sizeof(pmix_data_array_t)));
  auto* elements = static_cast<Element*>(std::calloc(count, sizeof(Element)));
  if (array == nullptr || elements == nullptr) {
    std::free(array);
    std::free(elements);
    return fail(Errc::no_memory);
  }
  for (std::size_t i = 0; i < count; ++i) elements[i] = make(i);
  *array = {type, count, elements};
  pmix_value_t raw{};
  raw.type = PMIX_DATA_ARRAY;
  raw.data.darray = array;
  return Value::adopt(raw);
}

/// The processes of this job on the node.
Result<Value> procs_of_node(const JobView& job, std::uint32_t node) {
  const auto ranks = job.ranks_on(node);
  return make_array<pmix_proc_t>(PMIX_PROC, ranks.size(), [&](std::size_t i) {
    pmix_proc_t proc{};
    data::load_fixed(proc.nspace, sizeof proc.nspace, job.nspace());
    proc.rank = ranks[i];
    return proc;
  });
}

/// "SK0:L30:..." says 0. `none`: the rank is not bound within one package, or the host does not say.
std::uint32_t package_of(const JobView& job, std::uint32_t rank) {
  const auto locality = stored(job, {Realm::rank, rank}, PMIX_LOCALITY_STRING);
  if (!locality || locality->get().type != PMIX_STRING || locality->get().data.string == nullptr) return none;
  const std::string_view text(locality->get().data.string);
  const auto at = text.find("SK");
  if (at == std::string_view::npos) return none;
  std::uint32_t package = none;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data() + at + 2, end, package);
  const bool is_one = read.ec == std::errc{} && (read.ptr == end || *read.ptr == ':');
  return is_one ? package : none;
}

/// How many lower ranks of the job are on the package of this one.
Result<Value> package_rank(const JobView& job, std::uint32_t rank) {
  const auto package = package_of(job, rank);
  if (package == none) return fail(Errc::not_found);
  std::uint16_t before = 0;
  for (const auto other : job.ranks_on(job.rank(rank)->node))
    if (other < rank && package_of(job, other) == package) ++before;
  return Value::of(before);
}

/// A string for each local rank, in their order; where one is not bound, there is no such list.
Result<Value> cpusets_of_node(const JobView& job, std::uint32_t node) {
  const auto ranks = job.ranks_on(node);
  std::vector<Value> sets;
  for (const auto rank : ranks) {
    auto set = stored(job, {Realm::rank, rank}, PMIX_CPUSET);
    if (!set || set->get().type != PMIX_STRING) return fail(Errc::not_found);
    sets.push_back(std::move(*set));
  }
  return make_array<char*>(PMIX_STRING, sets.size(),
                           [&](std::size_t i) { return std::exchange(sets[i].get().data.string, nullptr); });
}

/// False, unless the host said otherwise of the job.
Result<Value> was_spawned(const JobView& job, std::uint32_t) {
  auto said = stored(job, {Realm::job, 0}, PMIX_SPAWNED);
  return said ? std::move(said) : Value::of(false);
}

// ---- scratch folders: of the session, in it for the job, in that for each rank

Result<Value> folder_of_session(const JobView& job, std::uint32_t) {
  return stored(job, {Realm::job, 0}, "weft.tmpdir");
}

Result<Value> is_session_folder_removed(const JobView& job, std::uint32_t) {
  const auto folder = folder_of_session(job, 0);
  if (!folder) return fail(folder.error());
  return Value::of(true);
}

Result<Value> folder_of_job(const JobView& job, std::uint32_t) {
  const auto folder = folder_of_session(job, 0);
  if (!folder) return fail(folder.error());
  return text(std::string(data::map_text(folder->get())) + '/' + std::string(job.nspace()));
}

Result<Value> folder_of_rank(const JobView& job, std::uint32_t rank) {
  if (job.rank(rank)->node != job.my_node()) return fail(Errc::not_found);
  const auto folder = folder_of_job(job, 0);
  if (!folder) return fail(folder.error());
  return text(std::string(data::map_text(folder->get())) + '/' + std::to_string(rank));
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
    {Realm::app, PMIX_APPLDR, [](const JobView& j, std::uint32_t app) { return a_rank(j.index().app(app).leader); }},
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
  for (const auto& entry : entries) {
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
