// SPDX-License-Identifier: BSD-3-Clause
// What names a namespace may come before the host has registered it here: hosts of different nodes do so at
// different times. The loop's thread only.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "core/server/jobs/jobs.hpp"
#include "core/server/loop/loop.hpp"

namespace weft::server {

/// For what has no time-out of its own.
inline constexpr std::chrono::seconds registration_wait{2};

/// then: once: at once where the namespace is known, else when it is registered, or after `limit`.
void await_registration(Loop& loop, Jobs& jobs, const std::string& nspace, Loop::Clock::duration limit,
                        std::function<void(bool is_known)> then);

}  // namespace weft::server
