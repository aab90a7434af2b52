// SPDX-License-Identifier: BSD-3-Clause
// What this transport puts around the bytes that it moves, and around what UCP packs. Host byte order: all nodes of a
// job are of one kind. A change of any of it is a new number in the two magics.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "weft/bytes.hpp"

namespace weft::ucx {

/// Identifiers of UCP's active messages.
enum Channel : unsigned { message_channel = 1, get_channel = 2, reply_channel = 3 };

/// In front of a message: header, then payload.
struct MessageFront {
  std::uint16_t id;
  std::uint16_t unused;
  std::uint32_t header_bytes;
};

/// How a reader names one of its gets; what a reply brings back unchanged.
struct Ticket {
  std::uint32_t number;
  std::uint32_t generation;
};

struct GetRequest {
  std::uint64_t region, offset, length;
  Ticket ticket;
};

/// In front of the bytes of a get, which are missing if it failed.
struct GetReply {
  Ticket ticket;
  std::uint32_t failed;
  std::uint32_t unused;
};

struct RegionKey {
  std::uint64_t region;  ///< chosen at random: whoever was not given it does not guess it
  std::uint64_t base;    ///< address at the target; for direct gets
  std::uint64_t length;
  Bytes remote_key;  ///< as UCP packs it; empty: this region is read by asking
};

// UCP takes what it is handed for an address or a key of its own, so both travel with a checksum.
std::vector<std::byte> pack_address(Bytes worker_address);
std::optional<Bytes> unpack_address(Bytes packed) noexcept;
std::vector<std::byte> pack_key(const RegionKey& key);
std::optional<RegionKey> unpack_key(Bytes packed) noexcept;

/// Takes T from the front of the bytes; false: they are too short for it.
template <class T>
bool take(Bytes& from, T& out) noexcept {
  if (from.size() < sizeof out) return false;
  std::memcpy(&out, from.data(), sizeof out);
  from = from.subspan(sizeof out);
  return true;
}

}  // namespace weft::ucx
