// SPDX-License-Identifier: BSD-3-Clause
// What this process's PMIx server knows of the calls of a job's ranks (docs/scale/trace.md).
#pragma once

#include <pmix_common.h>

#include <functional>
#include <string>

#include "base/trace.hpp"

namespace weft::node {

/// Of the value of `weft.trace`. Of bytes that are none: an empty one.
base::ServerTrace trace_in(const pmix_value_t& value);

/// answered: once, on a thread of the library or inside this call; with an empty trace where the job is not
/// known there, or is not traced.
void ask_server_trace(const std::string& nspace, std::function<void(base::ServerTrace)> answered);

}  // namespace weft::node
