// SPDX-License-Identifier: BSD-3-Clause
// Numbers of few bytes: seven bits a byte, lowest first, all but the last byte with the eighth bit set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/bytes.hpp"

namespace weft::store {

/// So many at most, of numbers below 2^35.
inline constexpr std::size_t most_varint_bytes = 5;

inline std::size_t varint_bytes(std::uint64_t number) noexcept {
  std::size_t bytes = 1;
  for (number >>= 7; number != 0; number >>= 7) ++bytes;
  return bytes;
}

/// Returns the byte behind it.
inline std::byte* put_varint(std::byte* to, std::uint64_t number) noexcept {
  for (; number >= 0x80; number >>= 7) *to++ = std::byte((number & 0x7f) | 0x80);
  *to++ = std::byte(number);
  return to;
}

/// Reads the number at `at`, and moves `at` behind it. False: it does not end within the bytes, or is too
/// long.
inline bool read_varint(Bytes bytes, std::uint64_t& at, std::uint64_t& number) noexcept {
  number = 0;
  for (unsigned shift = 0; shift < 7 * most_varint_bytes && at < bytes.size(); shift += 7) {
    const auto part = std::to_integer<std::uint64_t>(bytes[at++]);
    number |= (part & 0x7f) << shift;
    if (part < 0x80) return true;
  }
  return false;
}

}  // namespace weft::store
