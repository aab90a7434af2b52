// SPDX-License-Identifier: BSD-3-Clause
// The order that starts a job: the same O(nodes) bytes for all nodes, from which each computes its own ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/channel/protocol.hpp"
#include "tools/channel/wire.hpp"
#include "tools/job/app.hpp"
#include "tools/job/input_target.hpp"
#include "tools/job/interface.hpp"

namespace weft::channel::order {

struct Launch {
  static constexpr MessageType type = MessageType::launch;
  std::string nspace;
  std::vector<std::string> hosts;    ///< of the nodes, by number
  std::string distribution;          ///< which rank is on which node: encode(Distribution)
  std::vector<std::uint32_t> slots;  ///< of the nodes, by number; empty: not counted
  std::uint32_t all_slots =
      0;                      ///< of the only machine, or of all virtual nodes; 0: there are several machines
  std::uint32_t session = 0;  ///< PMIX_SESSION_ID
  std::vector<job::App> apps;            ///< without their settings
  std::string launch_info;               ///< for the PMIx server of each node: host::take_launch_info()
  std::vector<std::string> environment;  ///< of weftrun
  std::string directory;                 ///< weftrun's own
  job::BindTo bind = job::BindTo::automatic;
  job::MapBy map = job::MapBy::automatic;
  bool one_machine = false;     ///< all nodes share the processors of one machine (virtual nodes)
  bool wants_bindings = false;  ///< `started` is to list where each rank is bound
  bool is_recoverable = false;  ///< the job outlives its first failed rank
  job::InputTarget input;
  job::Pmi pmi = job::Pmi::automatic;
};

template <class Archive>
void fields(Archive& archive, Launch& launch) {
  archive(launch.nspace);
  archive(launch.hosts);
  archive(launch.distribution);
  archive(launch.slots);
  archive(launch.all_slots);
  archive(launch.session);
  archive(launch.apps);
  archive(launch.launch_info);
  archive(launch.environment);
  archive(launch.directory);
  archive(launch.bind);
  archive(launch.map);
  archive(launch.one_machine);
  archive(launch.wants_bindings);
  archive(launch.is_recoverable);
  archive(launch.input);
  archive(launch.pmi);
}

}  // namespace weft::channel::order
