// SPDX-License-Identifier: BSD-3-Clause
// What the ranks can read about their job without asking anybody: the argument of
// PMIx_server_register_nspace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/node/app.hpp"
#include "tools/node/info_list.hpp"
#include "tools/node/mapping.hpp"

namespace weft::node {

/// A job as it is going to run. `apps[a].ranks` is final; ranks are numbered through the apps in their order.
struct JobMap {
  std::string nspace;
  std::string host;
  std::string directory;  ///< weftrun's own; where ranks without --wdir run
  std::uint32_t size = 0;
  std::vector<App> apps;
  Policy policy;
  std::vector<Place> places;  ///< one a rank
  std::uint32_t cores = 1;

  std::size_t app_of(Rank rank) const noexcept;
  Rank first_rank_of(std::size_t app) const noexcept;
};

/// The identity of one bound rank, made by the PMIx server's own generators. Empty strings: not bound.
struct Locality {
  std::string cpuset, locality;
};

/// localities: one a rank, or none at all when nothing is bound. node_map, proc_map: from PMIx_generate_*.
InfoList job_info(const JobMap& map, const std::vector<Locality>& localities, const std::string& node_map,
                  const std::string& proc_map);

}  // namespace weft::node
