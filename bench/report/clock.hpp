// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <time.h>

#include <cstdint>

namespace weft::bench {

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share. About 25 ns a call.
inline std::int64_t now_ns() noexcept {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace weft::bench
