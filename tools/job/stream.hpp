// SPDX-License-Identifier: BSD-3-Clause
// What a rank writes to.
#pragma once

#include <cstdint>

namespace weft::job {

enum class Stream : std::uint8_t { out, error };

constexpr const char* name_of(Stream stream) noexcept {
  return stream == Stream::out ? "standard output" : "standard error";
}

}  // namespace weft::job
