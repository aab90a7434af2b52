// SPDX-License-Identifier: BSD-3-Clause
// Wire format of this transport: what stands in front of a message's bytes, and around the addresses and keys
// that UCP packs. Host byte order: all nodes of a job have the same. A change of the format needs new values
// for the two magics.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/wire.hpp"
#include "weft/bytes.hpp"

namespace weft::ucx {

/// Identifiers of the active messages.
enum Channel : unsigned { message_channel = 1, get_channel = 2, reply_channel = 3 };

/// In front of a message's bytes, which are the header, then the payload.
struct MessagePrefix {
  std::uint16_t id;
  std::uint16_t unused;
  std::uint32_t header_bytes;
};
template <class Archive>
constexpr void fields(Archive& archive, MessagePrefix& m) {
  archive(m.id, m.unused, m.header_bytes);
}

/// Identifies one open get of the reader; the reply returns it unchanged.
struct RequestId {
  std::uint32_t number;
  std::uint32_t generation;
};
template <class Archive>
constexpr void fields(Archive& archive, RequestId& m) {
  archive(m.number, m.generation);
}

struct GetRequest {
  std::uint64_t region, offset, length;
  RequestId request_id;
};
template <class Archive>
constexpr void fields(Archive& archive, GetRequest& m) {
  archive(m.region, m.offset, m.length, m.request_id);
}

/// In front of the bytes of a get reply; if the get failed, no bytes follow.
struct GetReply {
  RequestId request_id;
  std::uint32_t failed;
  std::uint32_t unused;
};
template <class Archive>
constexpr void fields(Archive& archive, GetReply& m) {
  archive(m.request_id, m.failed, m.unused);
}

struct RegionKey {
  std::uint64_t region;  ///< random, so that only holders of the key can name the region
  std::uint64_t base;    ///< address of the region at the target; for direct gets
  std::uint64_t length;
  Bytes remote_key;  ///< packed by UCP; empty: the region is read by get requests
};

// UCP trusts the addresses and keys that it unpacks, so both travel with a checksum.
std::vector<std::byte> pack_address(Bytes worker_address);
std::optional<Bytes> unpack_address(Bytes packed) noexcept;
std::vector<std::byte> pack_key(const RegionKey& key);
std::optional<RegionKey> unpack_key(Bytes packed) noexcept;

}  // namespace weft::ucx
