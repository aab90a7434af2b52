// SPDX-License-Identifier: BSD-3-Clause
// What this process's PMIx server knows of the first calls of its ranks (docs/scale/account.md).
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <functional>
#include <string>

#include "tools/job/node_start.hpp"

namespace weft::node {

/// The first calls of one kind of the ranks here, in nanoseconds; as server::FirstCalls.
struct FirstCalls {
  std::uint64_t ranks = 0, last_begun = 0, after_last = 0, longest = 0;
};
struct ServerStart {
  FirstCalls init, fence, fetch;
  std::uint64_t fence_bytes = 0;
};

/// Of the value of `weft.start`. What it lacks stays 0.
ServerStart start_in(const pmix_value_t& value);

/// Adds to `start` what the server has said. started: when the last rank's process was there, in nanoseconds
/// of this machine's CLOCK_MONOTONIC; 0: not all ranks were started.
void add_to(job::NodeStart& start, const ServerStart& said, std::uint64_t started);

/// answered: once, on a thread of the library or inside this call; all 0 where the job is not known there.
void ask_server_start(const std::string& nspace, std::function<void(const ServerStart&)> answered);

}  // namespace weft::node
