// SPDX-License-Identifier: BSD-3-Clause
// Bits of Envelope::flags.
#pragma once

#include <cstdint>

namespace weft::mesh::flag {

inline constexpr std::uint8_t piece = 1;        ///< a Piece stands before the header
inline constexpr std::uint8_t probe = 2;        ///< asks whether the receiver is alive
inline constexpr std::uint8_t probe_reply = 4;  ///< it is
inline constexpr std::uint8_t liveness = probe | probe_reply;

}  // namespace weft::mesh::flag
