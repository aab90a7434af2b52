// SPDX-License-Identifier: BSD-3-Clause
// The order that starts a job: the same O(nodes) bytes for all nodes, from which each computes its own ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/channel/node_keys.hpp"
#include "tools/channel/protocol.hpp"
#include "tools/channel/wire.hpp"
#include "tools/job/app.hpp"
#include "tools/job/attacher.hpp"
#include "tools/job/input_target.hpp"
#include "tools/job/interface.hpp"
#include "tools/job/mapping.hpp"
#include "tools/job/node_keys.hpp"
#include "tools/job/spawn.hpp"

namespace weft::channel::order {

struct Launch {
  static constexpr MessageType type = MessageType::launch;
  std::string nspace;
  std::vector<std::string> hosts;    ///< of the nodes, by number
  std::string distribution;          ///< which rank is on which node: encode(Distribution)
  std::vector<std::uint32_t> slots;  ///< of the nodes, by number; empty: not counted
  std::uint32_t all_slots =
      0;  ///< of the only machine, or of all virtual nodes; 0: there are several machines
  std::vector<job::NodeKey> node_keys;   ///< each once, whatever the number of nodes
  std::uint32_t session = 0;             ///< PMIX_SESSION_ID
  std::uint32_t universe = 0;            ///< slots of all nodes that jobs of the run may go to
  std::vector<job::App> apps;            ///< without their settings
  std::string launch_info;               ///< for the PMIx server of each node: host::take_launch_info()
  std::vector<std::string> environment;  ///< of weftrun
  std::string directory;                 ///< weftrun's own
  job::Mapping mapping;
  std::string processors;  ///< of each node that may be used, as --cpu-list has them; empty: all
  /// The cores of each rank, as a rank file has them (placement::read_core_list); empty: there is no rank
  /// file.
  std::vector<std::string> core_lists;
  bool sets_openmp = false;       ///< OMP_NUM_THREADS and places follow from mapping.cores_each
  bool merges_errors = false;     ///< standard error of ranks goes where their standard output goes
  bool pseudo_terminals = false;  ///< ranks write to these in the place of pipes
  bool one_machine = false;       ///< all nodes share the processors of one machine (virtual nodes)
  bool wants_bindings = false;    ///< `started` is to list where each rank is bound
  bool accounts = false;          ///< `settled` is to say how long the start took
  bool traces = false;            ///< `settled` is to bring the calls of the ranks
  bool is_recoverable = false;    ///< the job outlives its first failed rank
  job::InputTarget input;
  job::Pmi pmi = job::Pmi::automatic;
  std::optional<job::ProcessName> parent;  ///< of a job that a process has asked for
  std::optional<job::Attacher> attacher;   ///< of a job of a service
  std::optional<job::ProcessName> target;  ///< of daemons of a debugger: PMIX_DEBUG_TARGET
  /// Nodes without ranks of the job whose processes are to know it.
  std::vector<std::uint32_t> witnesses;
  /// To a witness that has come after the launch, from the launcher itself: the node's name. Else empty.
  std::string late_host;
};

template <class Archive>
void fields(Archive& archive, Launch& launch) {
  archive(launch.nspace);
  archive(launch.hosts);
  archive(launch.distribution);
  archive(launch.slots);
  archive(launch.all_slots);
  archive(launch.node_keys);
  archive(launch.session);
  archive(launch.universe);
  archive(launch.apps);
  archive(launch.launch_info);
  archive(launch.environment);
  archive(launch.directory);
  archive(launch.mapping);
  archive(launch.processors);
  archive(launch.core_lists);
  archive(launch.sets_openmp);
  archive(launch.merges_errors);
  archive(launch.pseudo_terminals);
  archive(launch.one_machine);
  archive(launch.wants_bindings);
  archive(launch.accounts);
  archive(launch.traces);
  archive(launch.is_recoverable);
  archive(launch.input);
  archive(launch.pmi);
  archive(launch.parent);
  archive(launch.attacher);
  archive(launch.target);
  archive(launch.witnesses);
  archive(launch.late_host);
}

}  // namespace weft::channel::order
