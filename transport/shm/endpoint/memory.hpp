// SPDX-License-Identifier: BSD-3-Clause
// The pages that an endpoint shares with its peers, and reads of a peer's memory that need no help of the
// peer.
//
//   | EndpointHeader, 1 page: peers may write | epochs, `regions` words: peers only read |
//
// V1  The only writer of `epochs` is the endpoint. A word counts the uses of its slot: odd while a region
//     occupies it. A key carries the odd number, which is used once, so a key that outlived its region
//     matches nothing.
// V2  The word of a region becomes even before its owner may free the memory. A reader compares it before and
//     after the copy: if it held the key's number both times, the bytes are the region's.
// V3  Only the kernel identifies the process (SO_PEERCRED of the socket that the address names). The process
//     lived during the copy, because its socket is still open afterwards (ShmEndpoint::progress).
// Crash: an owner that is killed leaves odd words behind; its memory no longer exists, and its socket is
// closed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/wire.hpp"
#include "transport/base/operations.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/segment.hpp"
#include "weft/transport.hpp"

namespace weft::shm {

/// Random, so that the name of an endpoint cannot be guessed and never recurs.
using Nonce = std::array<std::byte, 16>;

/// Complete before the endpoint gives out its address.
struct EndpointHeader {
  static constexpr std::uint64_t this_layout = 0x3130'4d48'5354'4657;  // "WFTSHM01"
  std::uint64_t layout = this_layout;
  Nonce nonce{};
  Doorbell bell;
};
static_assert(sizeof(EndpointHeader) == 128);

/// Odd while the region of that slot is exposed (V1).
using RegionEpoch = std::atomic<std::uint64_t>;
/// Layout of the shared pages.
struct SharedPages {
  static constexpr std::uint32_t regions = 16384;
  static constexpr std::size_t epochs_at = page_bytes;
  static constexpr std::size_t bytes = epochs_at + page_aligned(regions * sizeof(RegionEpoch));
};

struct PackedAddress {
  static constexpr std::uint32_t this_magic = 0x314d4853;  // "SHM1"
  std::uint32_t magic = this_magic;
  std::int32_t shared_fd = -1;  ///< number of the memfd's descriptor in the endpoint's process
  Nonce nonce{};                ///< the name of the socket
};
template <class Archive>
constexpr void fields(Archive& archive, PackedAddress& m) {
  archive(m.magic, m.shared_fd, m.nonce);
}
inline bool is_valid(const PackedAddress& m) {
  return m.magic == PackedAddress::this_magic && m.shared_fd >= 0;
}

struct PackedKey {
  static constexpr std::uint32_t this_magic = 0x4b4d4853;  // "SHMK"
  std::uint32_t magic = this_magic;
  std::uint32_t slot = 0;
  std::uint64_t epoch = 0;             ///< value of the epoch while the region is exposed (V1)
  std::uint64_t base = 0, length = 0;  ///< in the owner's address space
  Nonce endpoint{};                    ///< the endpoint that exposes the region
};
template <class Archive>
constexpr void fields(Archive& archive, PackedKey& m) {
  archive(m.magic, m.slot, m.epoch, m.base, m.length, m.endpoint);
}
inline bool is_valid(const PackedKey& m) {
  return m.magic == PackedKey::this_magic && m.slot < SharedPages::regions && m.length != 0 &&
         m.base + m.length >= m.base;
}
/// A region hands out its key as it lies in memory.
static_assert(sizeof(PackedKey) == 48 && base::fixed_bytes<PackedKey> == 48);

/// The owner's side of the epochs.
class RegionTable {
 public:
  explicit RegionTable(RegionEpoch* epochs) noexcept : epochs_(epochs) {}
  struct Entry {
    std::uint32_t slot;
    std::uint64_t epoch;
  };
  /// Errors: no_memory (all slots are in use).
  Result<Entry> allocate();
  void retire(std::uint32_t slot) noexcept;

 private:
  RegionEpoch* epochs_;
  std::uint32_t used_ = 0;
  std::vector<std::uint32_t> free_;
};

/// Copies from a process of the same user. Checks the bounds, and the epoch before and after the copy (V2).
/// Errors: invalid (outside of the region, or the region no longer exists), peer_lost (no such process), os.
Result<void> read_region(pid_t process, const RegionEpoch* epochs, const PackedKey& key, std::uint64_t offset,
                         MutableBytes into) noexcept;

/// Checks whether this host allows reading the memory of other processes. Errors: not_found, with the reason.
Result<void> can_read_processes() noexcept;

class ShmEndpoint;
class ShmPeer;

class ShmKey final : public RemoteKey {
 public:
  ShmKey(ShmPeer& owner, const PackedKey& key) : peer(owner), packed(key) {}
  ShmPeer& peer;
  PackedKey packed;
};

class ShmRegion final : public MemoryRegion {
 public:
  ShmRegion(ShmEndpoint& owner, std::span<std::byte> memory, RegionTable::Entry entry, const Nonce& endpoint);
  ~ShmRegion() override;
  Bytes packed_key() const noexcept override { return std::as_bytes(std::span(&key_, 1)); }
  std::span<std::byte> memory() const noexcept { return memory_; }

 private:
  ShmEndpoint& owner_;
  std::span<std::byte> memory_;
  PackedKey key_;
};

}  // namespace weft::shm
