// SPDX-License-Identifier: BSD-3-Clause
// What the writer and the parser of node_map.hpp have in common.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace weft::data::map_format {

using Ranks = std::vector<std::uint32_t>;

inline constexpr std::string_view tag = "weft1:";

inline bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

// A run of digits in a name has at most 18 digits: they fit 64 bits with room for +1.
inline constexpr std::size_t max_width = 18;
inline constexpr std::uint64_t highest_number = 999'999'999'999'999'999;

inline void append_number(std::string& out, std::uint64_t value, std::size_t width = 0) {
  char digits[20];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  const auto length = static_cast<std::size_t>(end - digits);
  if (length < width) out.append(width - length, '0');
  out.append(digits, length);
}

}  // namespace weft::data::map_format
