// SPDX-License-Identifier: BSD-3-Clause
// Which keys: the PMIx Standard's chapter "Job-specific reserved keys" and what Open MPI 4 reads during its
// start.
#include "tools/host/job_info.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "tools/host/calls.hpp"
#include "tools/host/debug_events.hpp"
#include "tools/job/ranges.hpp"
#include "tools/messages/messages.hpp"

namespace weft::host {
namespace {

using job::Rank;

static_assert(job::NodeKey::longest_key == PMIX_MAX_KEYLEN);

std::string command_line(const job::App& app) {
  std::string line;
  for (const auto& word : app.argv) line += (line.empty() ? "" : " ") + word;
  return line;
}

const std::string& directory_of(const JobMap& map, const job::App& app) {
  return app.directory.empty() ? map.directory : app.directory;
}

/// "2*8,1*4": two nodes of eight slots, one of four.
std::string slots_by_node(const std::vector<std::uint32_t>& slots) {
  std::string text;
  for (std::size_t at = 0; at < slots.size();) {
    std::size_t end = at;
    while (end < slots.size() && slots[end] == slots[at]) ++end;
    text += fmt::format("{}{}*{}", text.empty() ? "" : ",", end - at, slots[at]);
    at = end;
  }
  return text;
}

/// The others of the run know a job that a process has asked for, and are in its map for their numbers.
std::uint32_t nodes_with_ranks(const JobMap& map) {
  if (map.ranks_of_node.empty()) return 1;
  const auto empty = std::count_if(map.ranks_of_node.begin(), map.ranks_of_node.end(),
                                   [](const auto& ranks) { return ranks.empty(); });
  return map.nodes() - static_cast<std::uint32_t>(empty);
}

void add_job_level(InfoList& infos, const JobMap& map, const std::string& node_map,
                   const std::string& proc_map) {
  infos.add_string(PMIX_JOBID, map.nspace);
  infos.add_u32(PMIX_JOB_SIZE, map.size);
  infos.add_u32(PMIX_MAX_PROCS, map.size);
  infos.add_u32(PMIX_UNIV_SIZE, std::max(map.universe, map.size));
  infos.add_u32(PMIX_NUM_NODES, nodes_with_ranks(map));
  infos.add_u32(PMIX_NODEID, map.node);
  infos.add_u32(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(map.apps.size()));
  infos.add_rank(PMIX_NPROC_OFFSET, Rank{0});
  infos.add_string(PMIX_NODE_MAP, node_map);
  infos.add_string(PMIX_PROC_MAP, proc_map);
  if (!map.slots.empty()) {
    infos.add_u32(PMIX_NUM_SLOTS, std::accumulate(map.slots.begin(), map.slots.end(), std::uint32_t{0}));
    infos.add_string("weft.node.slots", slots_by_node(map.slots));
  }
  infos.add_string(PMIX_MAPBY, name_of(map.policy.map));
  infos.add_string(PMIX_RANKBY, map.rank_by);
  infos.add_string(PMIX_BINDTO, name_of(map.policy.bind));
  infos.add_bool(PMIX_JOB_RECOVERABLE, map.is_recoverable);
  if (!map.session_folder.empty()) infos.add_string("weft.tmpdir", map.session_folder);
  if (map.parent) {
    infos.add_bool(PMIX_SPAWNED, true);
    infos.add_proc(PMIX_PARENT_ID, proc_of(map.parent->nspace, map.parent->rank));
  }
  if (map.accounts) infos.add_bool("weft.start", true);
  if (map.traces) infos.add_bool("weft.trace", true);
  if (map.attacher) {  // for reports alone
    infos.add_u32("weft.attacher.pid", map.attacher->pid);
    infos.add_u32("weft.attacher.user", map.attacher->user);
    infos.add_bool("weft.detached", map.attacher->is_detached);
  }
  if (map.target) infos.add_proc(PMIX_DEBUG_TARGET, proc_of(map.target->nspace, map.target->rank));
  infos.add_bool("weft.localities", true);
  std::vector<ProgramStops> stops;
  for (std::size_t a = 0; a < map.apps.size(); ++a)
    stops.push_back({map.apps[a].stops, number(map.first_rank_of(a)), map.apps[a].ranks});
  add_stops(infos, map.size, stops);
}

InfoList session_level(const JobMap& map) {
  InfoList infos;
  // A session for each launcher: its pid is unique as long as it runs.
  infos.add_u32(PMIX_SESSION_ID, map.session != 0 ? map.session : static_cast<std::uint32_t>(::getpid()));
  infos.add_u32(PMIX_UNIV_SIZE, std::max(map.universe, map.size));
  infos.add_string(PMIX_NODE_LIST, node_list(map));
  infos.add_string(PMIX_RM_NAME, "weft");
  infos.add_string(PMIX_RM_VERSION, WEFT_VERSION);
  return infos;
}

void add_node_keys(InfoList& infos, const JobMap& map, const std::vector<job::NodeKey>& keys) {
  for (std::uint32_t node = 0; node < map.nodes() && !keys.empty(); ++node) {
    InfoList own;
    own.add_u32(PMIX_NODEID, node);
    for (const auto& key : keys)
      if (const auto value = key.value_of(node); !value.empty())
        own.add_string(key.key.c_str(), std::string(value));
    if (own.size() > 1) infos.add_array(PMIX_NODE_INFO_ARRAY, std::move(own));
  }
}

/// The infos of this node; each node registers its own.
InfoList node_level(const JobMap& map) {
  InfoList infos;
  infos.add_u32(PMIX_NODEID, map.node);
  infos.add_string(PMIX_HOSTNAME, map.host);
  if (map.slots.empty()) infos.add_u32(PMIX_MAX_PROCS, map.cores);
  infos.add_bool(PMIX_NODE_OVERSUBSCRIBED, map.is_oversubscribed());
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    infos.add_u64(PMIX_AVAIL_PHYS_MEMORY,
                  static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes));
  }
  return infos;
}

InfoList app_level(const JobMap& map, std::size_t a) {
  const job::App& app = map.apps[a];
  InfoList infos;
  infos.add_u32(PMIX_APPNUM, static_cast<std::uint32_t>(a));
  infos.add_u32(PMIX_APP_SIZE, app.ranks);
  infos.add_rank(PMIX_APPLDR, map.first_rank_of(a));
  infos.add_string(PMIX_APP_MAP_TYPE, name_of(map.policy.map));
  infos.add_string(PMIX_APP_ARGV, command_line(app));
  infos.add_string(PMIX_WDIR, directory_of(map, app));
  if (!app.process_set.empty()) infos.add_strings(PMIX_PSET_NAMES, {app.process_set});
  return infos;
}

InfoList rank_level(Rank rank, const std::vector<unsigned>& processors) {
  InfoList infos;
  infos.add_rank(PMIX_RANK, rank);  // first: the rank that the others belong to
  infos.add_string(PMIX_CPUSET, "hwloc:" + job::ranges(processors));
  return infos;
}

}  // namespace

std::size_t JobMap::app_of(Rank rank) const noexcept {
  std::uint32_t end = 0;
  for (std::size_t a = 0; a + 1 < apps.size(); ++a) {
    end += apps[a].ranks;
    if (number(rank) < end) return a;
  }
  return apps.size() - 1;
}

Rank JobMap::first_rank_of(std::size_t app) const noexcept {
  std::uint32_t first = 0;
  for (std::size_t a = 0; a < app; ++a) first += apps[a].ranks;
  return Rank{first};
}

std::uint32_t JobMap::nodes() const noexcept {
  return node_names.empty() ? 1 : static_cast<std::uint32_t>(node_names.size());
}

std::vector<Rank> JobMap::local_ranks() const {
  std::vector<Rank> ranks;
  if (!ranks_of_node.empty() && node >= ranks_of_node.size()) return ranks;  // a node behind those of the map
  if (!ranks_of_node.empty())
    for (const auto r : ranks_of_node[node]) ranks.push_back(Rank{r});
  else
    for (std::uint32_t r = 0; r < size; ++r) ranks.push_back(Rank{r});
  return ranks;
}

bool JobMap::is_oversubscribed() const {
  return policy.oversubscribed || (node < slots.size() && local_ranks().size() > slots[node]);
}

std::string node_list(const JobMap& map) {
  if (map.node_names.empty()) return map.host;
  return fmt::format("{}", fmt::join(map.node_names, ","));
}

std::string rank_list(const JobMap& map) {
  std::string list;
  const auto add = [&list](std::uint32_t rank) {
    if (!list.empty() && list.back() != ';') list += ',';
    fmt::format_to(std::back_inserter(list), "{}", rank);
  };
  for (std::size_t node = 0; node < map.ranks_of_node.size(); ++node) {
    if (node != 0) list += ';';
    for (const auto rank : map.ranks_of_node[node]) add(rank);
  }
  if (map.ranks_of_node.empty())
    for (const Rank rank : map.local_ranks()) add(number(rank));
  return list;
}

InfoList node_keys_info(const JobMap& map, const std::vector<job::NodeKey>& keys) {
  InfoList infos;
  add_node_keys(infos, map, keys);
  return infos;
}

InfoList job_info(const JobMap& map, const std::string& node_map, const std::string& proc_map) {
  InfoList infos;
  add_job_level(infos, map, node_map, proc_map);
  infos.add_array(PMIX_SESSION_INFO_ARRAY, session_level(map));
  infos.add_array(PMIX_NODE_INFO_ARRAY, node_level(map));
  add_node_keys(infos, map, map.node_keys);
  for (std::size_t a = 0; a < map.apps.size(); ++a) infos.add_array(PMIX_APP_INFO_ARRAY, app_level(map, a));
  const auto ranks = map.local_ranks();
  for (std::size_t i = 0; i < ranks.size() && i < map.bindings.size(); ++i)
    if (!map.bindings[i].processors.empty())
      infos.add_array(PMIX_PROC_INFO_ARRAY, rank_level(ranks[i], map.bindings[i].processors));
  return infos;
}

}  // namespace weft::host
