// SPDX-License-Identifier: BSD-3-Clause
// Bits of Envelope::flags.
#pragma once

#include <cstdint>

namespace weft::mesh::flag {

inline constexpr std::uint8_t piece = 1;  ///< a Piece stands before the header
inline constexpr std::uint8_t ping = 2;   ///< are you there?
inline constexpr std::uint8_t pong = 4;   ///< yes
inline constexpr std::uint8_t sign_of_life = ping | pong;

}  // namespace weft::mesh::flag
