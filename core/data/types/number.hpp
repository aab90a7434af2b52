// SPDX-License-Identifier: BSD-3-Clause
// Numbers of any width in memory, widened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::data {

template <class T>
T load(const void* from) noexcept {
  T out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

/// width: 1, 2, 4 or 8 bytes.
inline std::uint64_t natural_at(const void* from, std::size_t width) noexcept {
  switch (width) {
    case 1:
      return load<std::uint8_t>(from);
    case 2:
      return load<std::uint16_t>(from);
    case 4:
      return load<std::uint32_t>(from);
    default:
      return load<std::uint64_t>(from);
  }
}
inline std::int64_t integer_at(const void* from, std::size_t width) noexcept {
  switch (width) {
    case 1:
      return load<std::int8_t>(from);
    case 2:
      return load<std::int16_t>(from);
    case 4:
      return load<std::int32_t>(from);
    default:
      return load<std::int64_t>(from);
  }
}
/// width: 4 or 8 bytes.
inline double real_at(const void* from, std::size_t width) noexcept {
  return width == sizeof(float) ? load<float>(from) : load<double>(from);
}

}  // namespace weft::data
