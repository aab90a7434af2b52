// SPDX-License-Identifier: BSD-3-Clause
// PMIX_TIMEOUT: from the value of a directive to a point in time, for Get, Fence and all others.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::data {

class Infos;

using Timeout = std::optional<std::chrono::seconds>;  ///< nothing: no limit
using Deadline = std::optional<std::chrono::steady_clock::time_point>;

/// Thirty years. A longer timeout counts as this one: more would overflow the clock's nanoseconds, and a
/// deadline that has overflowed is one that has passed.
inline constexpr std::chrono::seconds longest_timeout{1'000'000'000};

/// In seconds; 0 is no limit. Errors: type_mismatch, for a value that is no whole number or is negative.
Result<Timeout> timeout_of(const pmix_value_t& value);

/// The value of PMIX_TIMEOUT among these directives; without it there is no limit. Errors: as timeout_of().
Result<Timeout> timeout_in(const Infos& directives);

/// The end of a wait that begins now. Inline: every fence without a timeout comes through here.
inline Deadline deadline_after(const Timeout& timeout) noexcept {
  if (!timeout) return std::nullopt;
  return std::chrono::steady_clock::now() + std::min(*timeout, longest_timeout);
}
/// The end of a wait that began at `since`.
inline Deadline deadline_after(const Timeout& timeout, std::chrono::steady_clock::time_point since) noexcept {
  if (!timeout) return std::nullopt;
  return since + std::min(*timeout, longest_timeout);
}

}  // namespace weft::data
