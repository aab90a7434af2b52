// SPDX-License-Identifier: BSD-3-Clause
// Wire format of messages. Both sides have the same byte order; libfabric's providers require that too.
#pragma once

#include <cstdint>

#include "base/wire.hpp"

namespace weft::ofi {

/// Stands in front of each message.
struct MessagePrefix {
  static constexpr std::uint16_t ours = 0x5746;
  std::uint16_t magic = ours;
  std::uint16_t id = 0;
  std::uint32_t header_bytes = 0;
  /// Incarnation of the receiver: after a restart another endpoint may listen on the same port.
  std::uint64_t to = 0;
};
template <class Archive>
constexpr void fields(Archive& archive, MessagePrefix& m) {
  archive(m.magic, m.id, m.header_bytes, m.to);
}
inline constexpr std::size_t prefix_bytes = base::fixed_bytes<MessagePrefix>;

}  // namespace weft::ofi
