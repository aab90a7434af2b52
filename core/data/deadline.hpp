// SPDX-License-Identifier: BSD-3-Clause
// PMIX_TIMEOUT: from the value of a directive to a point in time, for Get, Fence and all others.
#pragma once

#include <chrono>
#include <optional>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::data {

using Timeout = std::optional<std::chrono::seconds>;  ///< nothing: no limit
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Thirty years. A longer timeout counts as this one: more would overflow the clock's nanoseconds, and a deadline that
/// has overflowed is one that has passed.
inline constexpr std::chrono::seconds longest_timeout{1'000'000'000};

/// In seconds; 0 is no limit. Errors: type_mismatch, for a value that is no whole number or is negative.
Result<Timeout> timeout_of(const pmix_value_t& value);

/// The end of a wait that begins now.
Deadline deadline_after(const Timeout& timeout) noexcept;

}  // namespace weft::data
