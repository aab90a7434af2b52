// SPDX-License-Identifier: BSD-3-Clause
// Asking: through the public API of a tool, as any other program would.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/weftinfo/report.hpp"

namespace weft::weftinfo {

/// One cluster that this user may look at, with what one of its servers on this machine says of itself.
struct Listed {
  long pid = 0;            ///< of that server: the launcher, where it is here
  std::uint32_t rank = 0;  ///< its number in the cluster
  Cluster cluster;
};

/// One server of each cluster: the one that was started first, which is the launcher, because it starts the
/// others.
std::vector<Listed> one_of_each(std::vector<Listed> servers);
/// The servers of this machine, ascending by pid. Throws Stop.
std::vector<Listed> list_clusters();
/// Asks for the cluster with all its nodes. pid: of any of its servers on this machine. Throws Stop.
Cluster ask_cluster(long pid);

}  // namespace weft::weftinfo
