// SPDX-License-Identifier: BSD-3-Clause
// What the two ways of bringing a card have in common: by the host, and out of its node's memory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/server/jobs/far_cards.hpp"
#include "pmix_common.h"

namespace weft::server {

/// PMIX_SUCCESS: all that the rank had committed, at a moment after the fetch began, is here, or in `unkept`.
/// PMIX_ERR_UNREACH: the rank has ended and committed nothing, or its node is lost. PMIX_ERR_NOT_FOUND:
/// nothing is there (Until::now), or will ever be. Else what the host or the store says.
struct Fetched {
  pmix_status_t status;
  std::uint64_t end = 0;             ///< how far the rank's log reaches; not 0 on success
  std::vector<UnkeptCard> unkept{};  ///< what the segment has no room for: it is here, and nowhere else
};
using FetchDone = std::function<void(const Fetched&)>;

/// When a fetch of a rank that has committed nothing ends.
enum class Until { now, commit };

}  // namespace weft::server
