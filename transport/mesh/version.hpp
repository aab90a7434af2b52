// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace weft::mesh {

/// Of all that servers say to each other: contacts, envelopes, every header and body behind them, and what
/// they read of each other's memory. Whatever of these changes raises it; tests/fuzz/formats_test.cpp notices
/// what it has samples of. A server takes neither the contact nor a message of another version:
/// docs/design/mesh.md.
inline constexpr std::uint16_t protocol_version = 31;

}  // namespace weft::mesh
