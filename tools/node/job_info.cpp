// SPDX-License-Identifier: BSD-3-Clause
// Which keys: the PMIx Standard's chapter "Job-specific reserved keys" and what Open MPI 4 reads during its
// start.
#include "tools/node/job_info.hpp"

#include <fmt/format.h>
#include <pmix.h>
#include <unistd.h>

#include "tools/node/messages.hpp"

namespace weft::node {
namespace {

std::string all_ranks(std::uint32_t size) {
  std::string list;
  for (std::uint32_t rank = 0; rank < size; ++rank) list += fmt::format("{}{}", rank == 0 ? "" : ",", rank);
  return list;
}

std::string command_line(const App& app) {
  std::string line;
  for (const auto& word : app.argv) line += (line.empty() ? "" : " ") + word;
  return line;
}

const std::string& directory_of(const JobMap& map, const App& app) {
  return app.directory.empty() ? map.directory : app.directory;
}

void add_job_level(InfoList& infos, const JobMap& map, const std::string& node_map,
                   const std::string& proc_map) {
  infos.add_string(PMIX_JOBID, map.nspace);
  infos.add_u32(PMIX_JOB_SIZE, map.size);
  infos.add_u32(PMIX_MAX_PROCS, map.size);
  infos.add_u32(PMIX_UNIV_SIZE, map.size);
  infos.add_u32(PMIX_NUM_NODES, 1);
  infos.add_u32(PMIX_JOB_NUM_APPS, static_cast<std::uint32_t>(map.apps.size()));
  infos.add_rank(PMIX_NPROC_OFFSET, Rank{0});
  infos.add_string(PMIX_NODE_MAP, node_map);
  infos.add_string(PMIX_PROC_MAP, proc_map);
  infos.add_string(PMIX_ANL_MAP, fmt::format("(vector,(0,1,{}))", map.size));
  infos.add_string(PMIX_NODE_LIST, map.host);
  infos.add_string(PMIX_MAPBY, name_of(map.policy.map));
  infos.add_string(PMIX_RANKBY, "slot");
  infos.add_string(PMIX_BINDTO, name_of(map.policy.bind));
  // On one node the job's local values are the node's; Open MPI 4 asks for them at job level.
  infos.add_u32(PMIX_LOCAL_SIZE, map.size);
  infos.add_u32(PMIX_NODE_SIZE, map.size);
  infos.add_string(PMIX_LOCAL_PEERS, all_ranks(map.size));
  infos.add_rank(PMIX_LOCALLDR, Rank{0});
}

InfoList session_level(const JobMap& map) {
  InfoList infos;
  // One launcher, one session: its pid is unique as long as it lives.
  infos.add_u32(PMIX_SESSION_ID, static_cast<std::uint32_t>(::getpid()));
  infos.add_u32(PMIX_UNIV_SIZE, map.size);
  infos.add_string(PMIX_NODE_LIST, map.host);
  return infos;
}

InfoList node_level(const JobMap& map) {
  InfoList infos;
  infos.add_u32(PMIX_NODEID, 0);
  infos.add_string(PMIX_HOSTNAME, map.host);
  infos.add_u32(PMIX_NODE_SIZE, map.size);
  infos.add_u32(PMIX_LOCAL_SIZE, map.size);
  infos.add_string(PMIX_LOCAL_PEERS, all_ranks(map.size));
  infos.add_rank(PMIX_LOCALLDR, Rank{0});
  infos.add_u32(PMIX_MAX_PROCS, map.cores);
  infos.add_bool(PMIX_NODE_OVERSUBSCRIBED, map.policy.oversubscribed);
  const long pages = ::sysconf(_SC_PHYS_PAGES), page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page_bytes > 0) {
    infos.add_u64(PMIX_AVAIL_PHYS_MEMORY,
                  static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes));
  }
  return infos;
}

InfoList app_level(const JobMap& map, std::size_t a) {
  const App& app = map.apps[a];
  InfoList infos;
  infos.add_u32(PMIX_APPNUM, static_cast<std::uint32_t>(a));
  infos.add_u32(PMIX_APP_SIZE, app.ranks);
  infos.add_rank(PMIX_APPLDR, map.first_rank_of(a));
  infos.add_string(PMIX_APP_ARGV, command_line(app));
  infos.add_string(PMIX_WDIR, directory_of(map, app));
  return infos;
}

InfoList rank_level(const JobMap& map, Rank rank, const Locality* locality) {
  const std::size_t app = map.app_of(rank);
  const Rank leader = map.first_rank_of(app);
  const auto local = static_cast<std::uint16_t>(number(rank));
  InfoList infos;
  infos.add_rank(PMIX_RANK, rank);  // first: it says whose the others are
  infos.add_u32(PMIX_APPNUM, static_cast<std::uint32_t>(app));
  infos.add_rank(PMIX_APPLDR, leader);
  infos.add_rank(PMIX_APP_RANK, Rank{number(rank) - number(leader)});
  infos.add_rank(PMIX_GLOBAL_RANK, rank);
  infos.add_u16(PMIX_LOCAL_RANK, local);
  infos.add_u16(PMIX_NODE_RANK, local);
  infos.add_u32(PMIX_NODEID, 0);
  infos.add_string(PMIX_HOSTNAME, map.host);
  infos.add_u32(PMIX_REINCARNATION, 0);
  // An unbound rank has neither: Open MPI then takes its peers as "on the same node", which is all that is
  // true.
  if (locality != nullptr && !locality->cpuset.empty()) infos.add_string(PMIX_CPUSET, locality->cpuset);
  if (locality != nullptr && !locality->locality.empty())
    infos.add_string(PMIX_LOCALITY_STRING, locality->locality);
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

InfoList job_info(const JobMap& map, const std::vector<Locality>& localities, const std::string& node_map,
                  const std::string& proc_map) {
  InfoList infos;
  add_job_level(infos, map, node_map, proc_map);
  infos.add_array(PMIX_SESSION_INFO_ARRAY, session_level(map));
  infos.add_array(PMIX_NODE_INFO_ARRAY, node_level(map));
  for (std::size_t a = 0; a < map.apps.size(); ++a) infos.add_array(PMIX_APP_INFO_ARRAY, app_level(map, a));
  for (std::uint32_t r = 0; r < map.size; ++r) {
    infos.add_array(PMIX_PROC_INFO_ARRAY,
                    rank_level(map, Rank{r}, localities.empty() ? nullptr : &localities[r]));
  }
  return infos;
}

}  // namespace weft::node
