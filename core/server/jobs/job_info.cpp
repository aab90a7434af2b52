// SPDX-License-Identifier: BSD-3-Clause
// Long, because what a host may say is: a method for each kind of array, in the order of the passes.
#include "core/server/jobs/job_info.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/log_format.hpp"
#include "core/data/names.hpp"
#include "core/data/node_map.hpp"
#include "core/store/job_keys.hpp"

namespace weft::server {
namespace {

using data::map_text;
using store::KeyOwner;
using store::none;
using store::none16;
using store::Realm;

// In PMIX_APP_INFO_ARRAY: the application's ranks where they do not follow each other, as one node of PMIX_PROC_MAP.
constexpr std::string_view app_ranks_key = "weft.app.ranks";

// A job of the largest machines has some ten million ranks; more is a host's mistake, not a job.
constexpr std::uint32_t max_ranks = 1u << 26;
// Arrays in arrays: the Standard names three levels.
constexpr int deepest = 8;

std::uint32_t number_of(const pmix_value_t& value) {
  const auto number = data::as_unsigned(value);
  return number && *number < none ? static_cast<std::uint32_t>(*number) : none;
}

/// Where a key belongs that a host gives beside the arrays, if that is not the job.
std::optional<Realm> own_realm_of(std::string_view key) noexcept {
  for (const std::string_view session :
       {PMIX_SESSION_ID, PMIX_UNIV_SIZE, PMIX_CLUSTER_ID, PMIX_TMPDIR, PMIX_TDIR_RMCLEAN,
        PMIX_HOSTNAME_KEEP_FQDN, PMIX_RM_NAME, PMIX_RM_VERSION})
    if (key == session) return Realm::session;
  for (const std::string_view node : {PMIX_HOSTNAME, PMIX_HOSTNAME_ALIASES, PMIX_NODE_SIZE,
                                      PMIX_AVAIL_PHYS_MEMORY, PMIX_LOCAL_PROCS, PMIX_NODE_OVERSUBSCRIBED})
    if (key == node) return Realm::node;
  for (const std::string_view app :
       {PMIX_APPLDR, PMIX_APP_SIZE, PMIX_APP_ARGV, PMIX_APP_MAP_TYPE, PMIX_APP_MAP_REGEX, PMIX_WDIR})
    if (key == app) return Realm::app;
  return std::nullopt;
}

/// The order of what a host says does not matter: arrays are collected, and read when the maps are known.
class Reader {
 public:
  Reader(store::JobSpec& spec, std::string_view host) : spec_(spec), host_(host) {}

  Result<void> read(const pmix_info_t* infos, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (auto ok = job_level(infos[i], 0); !ok) return ok;
    return {};
  }
  Result<void> finish(int local_size, const std::set<std::uint32_t>& registered);
  /// After an error of read() or finish(): which attribute, and what is wrong with it. Empty: the error says it all.
  const std::string& reason() const noexcept { return reason_; }

 private:
  Unexpected refuse(std::string_view key, std::string_view why);
  Result<void> take_number(const pmix_info_t& info, std::uint32_t& to);
  Result<void> take_nodes(const pmix_info_t& info);
  Result<void> take_places(const pmix_info_t& info);
  Result<void> job_level(const pmix_info_t& info, int depth);
  Result<void> session(const pmix_info_t& array, int depth);
  template <class Take>
  Result<void> each(const pmix_info_t& info, Take&& take);
  Result<void> read_sessions();
  Result<void> process(const pmix_info_t& array);
  Result<void> process_key(std::uint32_t rank, const pmix_info_t& info);
  Result<void> node(const pmix_info_t& array);
  Result<void> application(const pmix_info_t& array);
  Result<void> keep(KeyOwner owner, const pmix_info_t& info);
  Result<void> grow(std::uint32_t ranks);
  std::uint32_t node_named(std::string_view name) const;
  Result<void> place();
  Result<void> count_nodes();
  Result<void> place_apps();
  Result<void> place_locals(int local_size, const std::set<std::uint32_t>& registered);
  void derive_ranks();
  void settle_realms();

  /// An application as its array describes it; its ranks: a list, or else `size` of them from `leader` on.
  struct App {
    std::uint32_t number = 0, size = none, leader = none;
    std::vector<std::uint32_t> ranks;
  };

  store::JobSpec& spec_;
  std::string_view host_;
  std::string reason_;
  std::vector<const pmix_info_t*> sessions_, processes_, nodes_, applications_;  ///< arrays, of the caller
  std::vector<App> app_arrays_;
  std::uint32_t offset_ = 0;  ///< PMIX_NPROC_OFFSET
  std::vector<std::string> node_names_;
  std::vector<std::vector<std::uint32_t>> ranks_of_node_;
  std::vector<std::uint32_t> peers_;
  std::uint32_t size_ = none;
  std::uint32_t session_ = none;  ///< that of the job, where the host says it beside the session arrays
  std::uint32_t my_node_ = none;
  std::uint32_t cluster_ = none;
  std::uint32_t apps_ = none;
  bool has_data_ = true;  ///< not PMIX_REGISTER_NODATA
};

Unexpected Reader::refuse(std::string_view key, std::string_view why) {
  const char* name = data::attribute_name(key);
  reason_ = std::string(name != nullptr ? std::string_view(name) : key) + " " + std::string(why);
  return fail(Errc::invalid, "what the host says of a namespace makes no sense");
}

Result<void> Reader::grow(std::uint32_t ranks) {
  if (ranks > max_ranks) return refuse(PMIX_RANK, "is more than any machine has");
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
      (array->size != 0 && (array->type != PMIX_INFO || array->array == nullptr)))
    return refuse(data::key_of(info), "is not an array of infos");
  const auto* items = static_cast<const pmix_info_t*>(array->array);
  for (std::size_t i = 0; i < array->size; ++i)
    if (Result<void> ok = take(items[i]); !ok) return ok;
  return {};
}

// ---- first pass: the job itself, and which arrays there are

/// Said twice it must be the same.
Result<void> Reader::take_number(const pmix_info_t& info, std::uint32_t& to) {
  const auto number = number_of(info.value);
  if (number == none) return refuse(data::key_of(info), "is not a number");
  if (to != none && to != number) return refuse(data::key_of(info), "is there twice, with two values");
  to = number;
  return {};
}

Result<void> Reader::take_nodes(const pmix_info_t& info) {
  auto names = data::parse_node_map(map_text(info.value));
  if (!names) return refuse(PMIX_NODE_MAP, names.error().what);
  if (!node_names_.empty() && node_names_ != *names)
    return refuse(PMIX_NODE_MAP, "is there twice, with two values");
  node_names_ = std::move(*names);
  return {};
}

Result<void> Reader::take_places(const pmix_info_t& info) {
  auto map = data::parse_proc_map(map_text(info.value));
  if (!map) return refuse(PMIX_PROC_MAP, map.error().what);
  if (!ranks_of_node_.empty() && ranks_of_node_ != *map)
    return refuse(PMIX_PROC_MAP, "is there twice, with two values");
  ranks_of_node_ = std::move(*map);
  return {};
}

Result<void> Reader::job_level(const pmix_info_t& info, int depth) {
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
    auto map = data::parse_proc_map(map_text(info.value));
    if (!map || map->size() != 1) return refuse(key, "is not a list of ranks");
    peers_ = std::move(map->front());
  }
  return ok ? keep({Realm::job, 0}, info) : ok;
}

/// Jobs inside a session are this one: one namespace is registered at a time.
Result<void> Reader::session(const pmix_info_t& array, int depth) {
  sessions_.push_back(&array);
  return each(array, [&](const pmix_info_t& i) -> Result<void> {
    const auto key = data::key_of(i);
    if (key == PMIX_JOB_INFO_ARRAY || key == PMIX_NODE_INFO_ARRAY) return job_level(i, depth);
    return {};
  });
}

// ---- second pass: arrays

/// The session of the job is the one that it names, else the first; the keys of others stand under their ids.
Result<void> Reader::read_sessions() {
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

Result<void> Reader::process(const pmix_info_t& array) {
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

Result<void> Reader::process_key(std::uint32_t rank, const pmix_info_t& info) {
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
  if (key == PMIX_HOSTNAME && entry.node == none) entry.node = node_named(map_text(info.value));
  return keep({Realm::rank, rank}, info);
}

std::uint32_t Reader::node_named(std::string_view name) const {
  const auto found = std::find(node_names_.begin(), node_names_.end(), name);
  return found == node_names_.end() ? none : static_cast<std::uint32_t>(found - node_names_.begin());
}

Result<void> Reader::node(const pmix_info_t& array) {
  std::uint32_t id = none;
  std::string_view name;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       if (data::key_of(i) == PMIX_HOSTNAME) name = map_text(i.value);
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

Result<void> Reader::application(const pmix_info_t& array) {
  App app;
  app.number = none;
  if (auto ok = each(array,
                     [&](const pmix_info_t& i) -> Result<void> {
                       const auto key = data::key_of(i);
                       if (key == PMIX_APPNUM) return take_number(i, app.number);
                       if (key == PMIX_APP_SIZE) return take_number(i, app.size);
                       if (key == PMIX_APPLDR) return take_number(i, app.leader);
                       if (key != app_ranks_key) return {};
                       auto list = data::parse_proc_map(map_text(i.value));
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

// ---- what follows from all of it

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
Result<void> Reader::place() {
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
Result<void> Reader::count_nodes() {
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

/// Ranks of this node: registered clients and PMIX_LOCAL_PEERS, else what the map says.
Result<void> Reader::place_locals(int local_size, const std::set<std::uint32_t>& registered) {
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

/// What a host said beside the arrays goes where a Get that names the realm looks for it.
void Reader::settle_realms() {
  for (auto& key : spec_.keys) {
    if (key.owner.realm != Realm::job) continue;
    const auto realm = own_realm_of(key.key).value_or(Realm::job);
    if (realm == Realm::session) key.owner = store::own_session;
    if (realm == Realm::node) key.owner = {Realm::node, my_node_};
    if (realm == Realm::app && spec_.apps == 1) key.owner = {Realm::app, 0};
  }
  if (!has_data_) spec_.keys.clear();
}

Result<void> Reader::finish(int local_size, const std::set<std::uint32_t>& registered) {
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

}  // namespace

Result<store::JobSpec> read_job_info(std::string_view nspace, int local_size, const pmix_info_t* infos,
                                     std::size_t count, const std::set<std::uint32_t>& registered,
                                     std::string_view host) {
  store::JobSpec spec;
  spec.nspace = nspace;
  Reader reader(spec, host);
  auto done = reader.read(infos, count);
  if (done) done = reader.finish(local_size, registered);
  if (done) return spec;
  const auto& reason = reader.reason();
  base::error(base::LogPart::jobs, "{} is not registered: {}", nspace,
              reason.empty() ? std::string_view(done.error().what) : std::string_view(reason));
  return fail(done.error());
}

}  // namespace weft::server
