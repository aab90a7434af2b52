// SPDX-License-Identifier: BSD-3-Clause
// An append-only log of keyed records with a hash index: one process writes, every process of the node reads,
// and no process ever waits. The job-level keys are such a log, and so is the card of each local rank.
//
//   | Header, 1 line | record | record | ... zero up to capacity | heads: u32 x buckets |
//                    ^ offset 0 of the data    ^ published
//   record = RecordHeader, key bytes, value bytes, padding to 8
//
// The heads follow the data, so that a single read of a few hundred bytes from another node contains the
// published length and the first records: read_card_image() in card.hpp. Such a read is not atomic: bytes may
// be older than the length that came with them. Each record therefore carries a check of itself, which only
// such readers use (record_check.hpp).
//
// The data of a card is in two pieces: the first piece beside those of the other cards, so that a reader of
// all cards touches few pages, the second elsewhere. Offsets run through both; no record crosses the
// boundary. The rest of the first piece then starts with a header that marks a gap (no key, `check` a
// constant), or is too short for a header.
//
// I1  One writer: a process, whose threads share a lock. All other processes only read.
// I2  Bytes below `published` never change; it only grows, by whole records, and stays a multiple of 8.
// I3  heads[b] is 0 or 1 + the offset/8 of the newest record of bucket b; a record's `previous` has the same
//     form and is strictly before the record. Every chain therefore ends, even a damaged one: a reader
//     rejects a link that does not go backwards.
// I4  A head is stored after `published` covers its record. A newer record of a key hides the older ones.
// I5  Offsets, never pointers. Capacity and bucket count are in the job header, which only the server writes:
//     a client can damage the bytes of its own card, not their bounds.
// Crash: a writer that dies inside append() leaves bytes above `published`, or a record that no head points
// to. The former are never read; the latter is visited by visit(), and the next writer's adopt() links it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/store/cards/record_check.hpp"
#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::store {

/// The kind of the owner of a key. `index` of a KeyOwner is the rank, the node id or the application number.
enum class Realm : std::uint8_t { rank = 0, job = 1, node = 2, app = 3, session = 4 };

struct KeyOwner {
  Realm realm;
  std::uint32_t index;
  friend bool operator==(KeyOwner, KeyOwner) = default;
};

inline constexpr std::size_t max_key_bytes = 511;  ///< PMIX_MAX_KEYLEN

/// Hash of a key, without its owner: computed once a Get, used for every log that is searched.
std::uint64_t hash_key(std::string_view key) noexcept;

struct Record {
  KeyOwner owner;
  std::uint8_t scope;  ///< pmix_scope_t
  std::string_view key;
  Bytes value;  ///< encoded, see core/data/types/value.hpp
};

class KeyedLog {
 public:
  struct Header {
    alignas(64) std::atomic<std::uint64_t> published{0};  // bytes of data that readers may read
  };
  static_assert(sizeof(Header) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);
  using Head = std::atomic<std::uint32_t>;

  /// Bytes of memory that a log of `capacity` data bytes and `buckets` (a power of two) needs.
  static constexpr std::uint64_t footprint(std::uint64_t capacity, std::uint32_t buckets) {
    return sizeof(Header) + std::uint64_t{buckets} * sizeof(Head) + capacity;
  }

  KeyedLog() = default;
  /// memory: footprint(capacity, buckets) bytes, zero when new. capacity: a multiple of 8, below 32 GiB.
  KeyedLog(std::byte* memory, std::uint64_t capacity, std::uint32_t buckets) noexcept
      : header_(reinterpret_cast<Header*>(memory)),
        heads_(reinterpret_cast<Head*>(memory + sizeof(Header) + capacity)),
        data_(memory + sizeof(Header)),
        first_(capacity),
        capacity_(capacity),
        mask_(buckets - 1) {}

  /// A log in two pieces: `first` bytes of data (a multiple of 8) in memory, the other capacity - first bytes
  /// in `rest`.
  KeyedLog(std::byte* memory, std::uint64_t first, std::uint32_t buckets, std::byte* rest,
           std::uint64_t capacity) noexcept
      : KeyedLog(memory, first, buckets) {
    capacity_ = capacity;
    rest_ = rest;
  }

  /// Writer only: how append() checks records from now on.
  void check_with(const RecordCheck& check) noexcept { check_ = check; }

  /// Bytes that append() uses for this record, without a gap before it.
  static std::uint64_t record_bytes(std::size_t key, std::size_t value) noexcept;
  /// The value of `published` after a record of `bytes` is appended at `end`: a writer knows before the first
  /// of many appends whether the last will fit. Errors: no_space.
  Result<std::uint64_t> end_after(std::uint64_t end, std::uint64_t bytes) const noexcept;

  /// Reads the record at the start of `bytes`, which need not be aligned; returns its length with the
  /// padding. Trusts no byte.
  /// Errors: corrupt (the record does not fit into them).
  static Result<std::uint64_t> read_record(Bytes bytes, Record& out) noexcept;
  /// True if these are the bytes of a complete record as its writer left them at `offset`; false after a torn
  /// read from another node, or a forged one where the check has a key.
  static bool is_intact(Bytes record, std::uint64_t offset, const RecordCheck& check) noexcept;
  /// True if no record starts here: the rest of a first piece whose log continues in the second.
  static bool is_gap(Bytes rest_of_piece) noexcept;

  /// Writer only, in shared memory, before the appends that take the log to `end`: there are pages for them.
  /// The pages of the header, the heads and all of a first piece are there already. Errors: no_space (of
  /// memory).
  Result<void> back(std::uint64_t end) noexcept;
  /// Writer only. Errors: no_space, invalid (key over 511 bytes, scope over 15); the log is unchanged then.
  Result<void> append(const Record& record) noexcept;

  /// Any process. The newest record of this key. Errors: not_found, corrupt.
  ///   scopes  bit s: records of scope s count; a key may have a value for this node and another for others
  Result<Record> find(KeyOwner owner, std::string_view key, std::uint64_t hash,
                      std::uint32_t scopes = ~std::uint32_t{0}) const noexcept;

  /// Any process. Calls see(record) for each, oldest first, from byte `from`; returns the `from` of the next
  /// call.
  template <class See>
  Result<std::uint64_t> visit(std::uint64_t from, See&& see) const {
    const auto end = published();
    if (!sound(end) || from > end || (from & 7) != 0) return fail(Errc::corrupt, "log bounds");
    while (from < end) {
      if (gap_at(from, end)) {
        from = first_;
        continue;
      }
      Record record;
      const auto next = read(from, end, record);
      if (!next) return next;
      see(record);
      from = *next;
    }
    return from;
  }

  /// To be called by a new writer before its first append(): links the record that a writer killed inside
  /// append() may have published without a head. There is at most one, the last, and its `previous` is still
  /// right.
  Result<void> adopt() noexcept;

  std::uint64_t published() const noexcept {
    return std::min(header_->published.load(std::memory_order_acquire), readable_);  // KL.P2 <- P1
  }
  /// For a reader that has no more than the first `end` bytes of the data mapped: what is published behind
  /// them does not count.
  void read_up_to(std::uint64_t end) noexcept { readable_ = end; }
  /// There is more by now than read_up_to() allows, so that a find() may have come to a record behind it.
  bool has_more() const noexcept { return header_->published.load(std::memory_order_relaxed) > readable_; }
  std::uint64_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return published() == 0; }

 private:
  struct RecordHeader {
    std::uint64_t check;  ///< over all bytes of the record behind it but the padding
    std::uint32_t previous;
    std::uint32_t index;
    std::uint32_t value_bytes;
    std::uint16_t hash;  ///< the lowest bits
    std::uint16_t key_bytes : 9;
    std::uint16_t realm : 3;
    std::uint16_t scope : 4;
  };
  static_assert(sizeof(RecordHeader) == 24 && max_key_bytes < 1 << 9);
  /// The bytes that the check covers.
  static Bytes checked(const std::byte* record, const RecordHeader& h) noexcept {
    return {record + sizeof h.check, sizeof h - sizeof h.check + h.key_bytes + h.value_bytes};
  }

  std::byte* at(std::uint64_t offset) const noexcept {
    return offset < first_ ? data_ + offset : rest_ + (offset - first_);
  }
  /// Bytes from `offset` to the end of its piece.
  std::uint64_t piece_left(std::uint64_t offset) const noexcept {
    return (offset < first_ ? first_ : capacity_) - offset;
  }
  /// True if the rest of the first piece holds no record; only if the second piece is in use.
  bool gap_at(std::uint64_t offset, std::uint64_t end) const noexcept;
  bool sound(std::uint64_t end) const noexcept { return end <= capacity_ && (end & 7) == 0; }
  static std::uint64_t length_of(const RecordHeader& h) noexcept;
  /// h: a copy of the header that was checked to be within the log.
  static Record record_at(const std::byte* bytes, const RecordHeader& h) noexcept;
  Result<std::uint64_t> read(std::uint64_t at, std::uint64_t end, Record& out) const noexcept;
  std::uint32_t bucket(KeyOwner owner, std::uint64_t hash) const noexcept {
    const std::uint64_t mixed =
        hash ^
        ((std::uint64_t{owner.index} << 3 | static_cast<std::uint64_t>(owner.realm)) * 0x9E3779B97F4A7C15ull);
    return static_cast<std::uint32_t>(mixed >> 32) & mask_;
  }

  Header* header_ = nullptr;
  Head* heads_ = nullptr;
  std::byte* data_ = nullptr;
  std::byte* rest_ = nullptr;
  std::uint64_t first_ = 0;  ///< bytes in data_; the whole capacity if there is one piece
  std::uint64_t capacity_ = 0;
  std::uint64_t readable_ = ~std::uint64_t{0};
  std::uint32_t mask_ = 0;
  RecordCheck check_;
};

}  // namespace weft::store
