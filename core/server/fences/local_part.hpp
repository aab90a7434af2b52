// SPDX-License-Identifier: BSD-3-Clause
// This node's part in a fence or a group's operation: which of its ranks are in it, and which are missing.
#pragma once

#include <functional>

#include "core/server/fences/fence_part.hpp"
#include "core/server/jobs/jobs.hpp"

namespace weft::server {

using HasArrived = std::function<bool(const Job&, std::uint32_t local)>;

FencePart local_part(const Jobs& jobs, const Procs& procs, FenceName name, const HasArrived& has_arrived);

}  // namespace weft::server
