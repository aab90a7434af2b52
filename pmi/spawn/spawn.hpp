// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Spawn for an order of PMI.
#pragma once

#include <pmix_common.h>

#include <string>

#include "pmi/spawn/spawn_order.hpp"

namespace weft::pmi {

struct Spawned {
  pmix_status_t status = PMIX_SUCCESS;
  std::string job;  ///< the name of the new job, where it runs
};

/// Returns when the children run. All of them run, or none. Errors: those of PMIx_Spawn;
/// PMIX_ERR_BAD_PARAM: an order of nothing; PMIX_ERR_OUT_OF_RESOURCE: too much is preput.
Spawned spawn(const SpawnOrder& order);

}  // namespace weft::pmi
