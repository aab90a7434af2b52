// SPDX-License-Identifier: BSD-3-Clause
// What the ranks can read about their job without a request to the server: the argument of
// PMIx_server_register_nspace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/host/info_list.hpp"
#include "tools/job/app.hpp"
#include "tools/job/attacher.hpp"
#include "tools/job/node_keys.hpp"
#include "tools/job/spawn.hpp"
#include "tools/placement/mapping.hpp"

namespace weft::host {

/// A job as it is going to run. `apps[a].ranks` is final; ranks are numbered through the apps in their order.
/// The fields that concern the job are the same on all its nodes.
struct JobMap {
  std::string nspace;
  std::string host;       ///< this node's name
  std::string directory;  ///< the launcher's own; where ranks without --wdir run
  std::uint32_t size = 0;
  std::vector<job::App> apps;
  placement::Policy policy;
  std::vector<placement::Binding> bindings;  ///< one for each rank of this node, in the order of the ranks
  std::uint32_t cores = 1;                   ///< of this node
  bool accounts = false;                     ///< when ranks are in their first calls is noted
  bool traces = false;                       ///< the calls of ranks are noted
  bool is_recoverable = false;               ///< the job outlives its first failed rank
  std::string rank_by = "slot";              ///< how ranks were numbered over the nodes: PMIX_RANKBY
  std::string session_folder;                ///< PMIX_TMPDIR of this node; empty: there is none
  std::optional<job::ProcessName> parent;    ///< of a job that a process has asked for
  std::optional<job::Attacher> attacher;     ///< of a job of a service
  std::optional<job::ProcessName> target;    ///< of daemons of a debugger

  // Only in a job of several nodes; else empty.
  std::vector<std::string> node_names;                    ///< by node number
  std::vector<std::vector<std::uint32_t>> ranks_of_node;  ///< by node number; each ascending
  std::uint32_t node = 0;                                 ///< the number of this node
  std::vector<std::uint32_t> slots;                       ///< by node number; empty: not counted
  std::vector<job::NodeKey> node_keys;
  std::uint32_t session = 0;   ///< PMIX_SESSION_ID; 0: this process's pid
  std::uint32_t universe = 0;  ///< slots for all jobs of the run

  std::size_t app_of(job::Rank rank) const noexcept;
  job::Rank first_rank_of(std::size_t app) const noexcept;
  std::uint32_t nodes() const noexcept;
  /// The ranks of this node, ascending: `bindings` and PMIX_LOCAL_RANK are in this order.
  std::vector<job::Rank> local_ranks() const;
  /// This node has more ranks than slots, or than processors.
  bool is_oversubscribed() const;
};

/// The arguments of PMIx_generate_regex and PMIx_generate_ppn: "a,b,c" and "0,1;2,3;4".
std::string node_list(const JobMap& map);
std::string rank_list(const JobMap& map);

/// The infos of a job: the same on every node but for the arrays of the node and of its ranks, which hold
/// only what does not follow from the map (docs/design/nodes.md): the server derives everything else.
/// node_map, proc_map: from PMIx_generate_* of the lists above.
InfoList job_info(const JobMap& map, const std::string& node_map, const std::string& proc_map);

/// Keys of nodes: an array for each node of the map that has any, which it has beside those of job_info().
InfoList node_keys_info(const JobMap& map, const std::vector<job::NodeKey>& keys);

}  // namespace weft::host
