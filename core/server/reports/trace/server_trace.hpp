// SPDX-License-Identifier: BSD-3-Clause
// What this node knows of a job's calls: the logs of its ranks, and the server's own of what it did for them
// (core/store/segment/trace_log.hpp). The loop's thread only.
#pragma once

#include "base/trace.hpp"
#include "core/data/types/value.hpp"
#include "core/server/jobs/job.hpp"

namespace weft::server {

/// A track for the server and for each local rank, in the order in which the host registered them. No event
/// in it ends before it begins, or after this call. Cost: a copy of each event. Of a job that no launcher
/// traces: nothing.
base::ServerTrace trace_of(const Job& job);

/// The value of the key `weft.trace`: the bytes of a base::ServerTrace.
inline constexpr const char* trace_key = "weft.trace";
data::Value to_value(const base::ServerTrace& trace);

}  // namespace weft::server
