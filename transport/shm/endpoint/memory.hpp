// SPDX-License-Identifier: BSD-3-Clause
// What an endpoint shows to its peers, and reads of a peer's memory that ask nothing of the peer.
//
//   | EndpointHeader, 1 page: peers may write | live, `regions` words: peers only read |
//
// V1  One writer of `live`: the endpoint. A word counts the lives of its slot: odd while a region lives there. A key
//     carries the odd number; it is used once, so a key that outlived its region fits nothing.
// V2  A region's word turns even before its owner may free the memory. A reader looks at it before and after the
//     copy: if it held the key's number both times, the bytes are the region's.
// V3  Which process that is, only the kernel says (SO_PEERCRED of the socket that the address names); that it lived
//     during the copy, the socket says that is still open after it (ShmEndpoint::progress).
// Crash: an owner that is killed leaves odd words behind; its memory is gone, and its socket closed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/base/operations.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/segment.hpp"
#include "weft/transport.hpp"

namespace weft::shm {

using Nonce = std::array<std::byte, 16>;  ///< makes an endpoint's name one that nobody guesses or meets again

/// Complete before the endpoint's address is handed to anybody.
struct EndpointHeader {
  static constexpr std::uint64_t this_layout = 0x3130'4d48'5354'4657;  // "WFTSHM01"
  std::uint64_t layout = this_layout;
  Nonce nonce{};
  Doorbell bell;
};
static_assert(sizeof(EndpointHeader) == 128);

using LiveWord = std::atomic<std::uint64_t>;
struct Exhibit {
  static constexpr std::uint32_t regions = 16384;
  static constexpr std::size_t live_at = page_bytes;
  static constexpr std::size_t bytes = live_at + page_aligned(regions * sizeof(LiveWord));
};

struct PackedAddress {
  static constexpr std::uint32_t this_magic = 0x314d4853;  // "SHM1"
  std::uint32_t magic = this_magic;
  std::int32_t exhibit = -1;  ///< the memfd's descriptor in the endpoint's process
  Nonce nonce{};              ///< names the socket
};
static_assert(sizeof(PackedAddress) == 24);

struct PackedKey {
  static constexpr std::uint32_t this_magic = 0x4b4d4853;  // "SHMK"
  std::uint32_t magic = this_magic;
  std::uint32_t slot = 0;
  std::uint64_t life = 0;              ///< what `live` holds (V1)
  std::uint64_t base = 0, length = 0;  ///< in the owner's address space
  Nonce of{};                          ///< the endpoint
};
static_assert(sizeof(PackedKey) == 48);

/// The owner's side of `live`.
class RegionTable {
 public:
  explicit RegionTable(LiveWord* live) noexcept : live_(live) {}
  struct Place {
    std::uint32_t slot;
    std::uint64_t life;
  };
  /// Errors: no_memory (every slot is taken).
  Result<Place> take();
  void drop(std::uint32_t slot) noexcept;

 private:
  LiveWord* live_;
  std::uint32_t used_ = 0;
  std::vector<std::uint32_t> free_;
};

/// Copies from a process of the same user; the bounds are checked, and the region is looked at before and after (V2).
/// Errors: invalid (outside of the region, or it is gone), peer_lost (no such process), os.
Result<void> read_region(pid_t process, const LiveWord* live, const PackedKey& key, std::uint64_t offset,
                         MutableBytes into) noexcept;

/// Is reading another process's memory allowed here at all? Errors: not_found, with what forbids it.
Result<void> can_read_processes() noexcept;

class ShmEndpoint;
class ShmPeer;

class ShmKey final : public RemoteKey {
 public:
  ShmKey(ShmPeer& of, const PackedKey& key) : peer(of), packed(key) {}
  ShmPeer& peer;
  PackedKey packed;
};

class ShmRegion final : public MemoryRegion {
 public:
  ShmRegion(ShmEndpoint& owner, std::span<std::byte> memory, RegionTable::Place place, const Nonce& of);
  ~ShmRegion() override;
  Bytes packed_key() const noexcept override { return std::as_bytes(std::span(&key_, 1)); }
  std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  ShmEndpoint& owner_;
  std::span<std::byte> memory_;
  PackedKey key_;
};

}  // namespace weft::shm
