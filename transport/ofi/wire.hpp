// SPDX-License-Identifier: BSD-3-Clause
// What our messages look like on the fabric. Both sides have the same byte order: libfabric's providers ask for that too.
#pragma once

#include <cstdint>

namespace weft::ofi {

/// Before each message.
struct Head {
  static constexpr std::uint16_t ours = 0x5746;
  std::uint16_t magic = ours;
  std::uint16_t id = 0;
  std::uint32_t header_bytes = 0;
  std::uint64_t to = 0;  ///< owner of the address: who hears it may have come after the one who was meant
};
static_assert(sizeof(Head) == 16);

}  // namespace weft::ofi
