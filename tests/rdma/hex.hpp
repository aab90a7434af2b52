// SPDX-License-Identifier: BSD-3-Clause
// Bytes as words of a command line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/bytes.hpp"

namespace weft::rdma {

inline std::string to_hex(Bytes bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const auto one : bytes) {
    out += digits[std::to_integer<unsigned>(one) >> 4];
    out += digits[std::to_integer<unsigned>(one) & 15];
  }
  return out;
}

inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> out;
  for (std::size_t at = 0; at + 1 < text.size(); at += 2)
    out.push_back(static_cast<std::byte>(std::stoul(std::string(text.substr(at, 2)), nullptr, 16)));
  return out;
}

}  // namespace weft::rdma
