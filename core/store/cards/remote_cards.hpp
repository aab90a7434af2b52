// SPDX-License-Identifier: BSD-3-Clause
// The cards of ranks on other nodes: the server appends what fences and fetches bring, every process of the
// node reads, and no process ever waits. There is a piece for each rank and fence. The pieces of a rank are a
// chain, newest first, whose link is in its RankEntry: so there is no other index, and nothing to rebuild
// when cards arrive.
//
//   | Header, 1 line | piece | piece | ... zero up to capacity |
//                    ^ offset 0      ^ used
//   piece  = u32 link of the rank's piece before it, end, base, entries, bodies, padding to 2
//   end    = varint: how far the rank's own log is known here with this piece: its position there / 4, and 1
//            if the piece has a base
//   base   = of such a piece, varint: how far before it its base begins, / 2
//   entry  = u32: value bytes 13 bits, key bytes 9, global 1 (else remote), last of its piece 1, hash 8.
//            Value bytes of 8191 mean that the next u32 is the length.
//   body   = key bytes, value bytes, in the order of the entries
//   link   = 0 for none, else 1 + offset / 2
//
// What cards have in common is stored once. A piece may have another one as its base, of another rank or
// node, which has none itself. An entry without key bytes has the key of one of the base's records: its body
// is where the entry of that record is and where its body is, varints from the base's begin on, and the
// difference from its value (difference.hpp).
//
// Overhead for a card with one short key: 9 bytes plus padding. The entries are stored together with 8 bits
// of the hash of each key, so that a walk over the keys of a rank touches few cache lines: a Get passes its
// hash and reads one body.
//
// I1  One writer: the server's loop thread. All other processes map the cards read-only.
// I2  Bytes that a link leads to never change. A link is stored after the whole piece that it leads to.
// I3  The link of a piece to the one before it goes strictly backwards, and its records end before the piece
//     that led to it, so every walk ends. So does a base. A reader rejects anything else, because the job
//     may be retired during the read: the reader then finds zeros, or the bytes of another job, and stays
//     within the capacity.
// I4  In a piece a later record of a key hides an earlier one, in a chain a newer piece an older one.
// I5  The ends of a chain grow, and each piece begins in the rank's log no later than the one before it
//     ended: in whatever order fences and fetches bring records, no older record hides a newer one and none
//     in between is missing.
// I6  `exchanged` is stored after all that a full fence of the whole job brought. A rank whose link leads
//     below it has had nothing brought since: a key that is not in its pieces was not committed when that
//     rank arrived at the fence.
// Crash: `used` is stored before the link. A writer that dies in between leaves bytes that no link leads to,
// and that no later writer overwrites.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "core/store/cards/card.hpp"
#include "core/store/cards/difference.hpp"

namespace weft::store {

class RemoteCards {
 public:
  /// Counters that weftinfo can read while the job runs; the writer uses only `used`.
  struct Header {
    alignas(64) std::atomic<std::uint64_t> used{0};
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> refused{0};    ///< cards for which there was no space
    std::atomic<std::uint64_t> exchanged{0};  ///< `used` when the last full fence of the whole job ended
    std::atomic<std::uint64_t> saved{0};      ///< bytes, by bases
  };
  static_assert(sizeof(Header) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);
  using Link = std::uint32_t;
  /// Links are below this number, so that other meanings can be given to the numbers from here on
  /// (RankEntry::card).
  static constexpr Link end_of_links = 0xffff0000;
  /// Bytes that links can address: 8 GiB less a little.
  static constexpr std::uint64_t most_bytes = (std::uint64_t{end_of_links} - 1) * 2;

  static constexpr std::uint64_t footprint(std::uint64_t capacity) { return sizeof(Header) + capacity; }

  RemoteCards() = default;
  /// memory: footprint(capacity) bytes, zero when new. capacity: even, at most most_bytes.
  RemoteCards(std::byte* memory, std::uint64_t capacity) noexcept
      : header_(reinterpret_cast<Header*>(memory)), data_(memory + sizeof(Header)), capacity_(capacity) {}

  /// Writer only. Appends a piece to the chain that `link` leads to; none if nothing in it is new. base: a
  /// piece without one, which is used where that saves something; 0: none. Errors, with nothing changed
  /// then: again (a part before it is missing, I5), no_space (here or of memory), invalid (a key of no or
  /// more than 511 bytes, a scope that stays on its node, an impossible position).
  Result<void> append(std::atomic<Link>& link, const Card& card, Link base = 0) noexcept;
  /// Writer only. The base of that piece; 0: it has none.
  Link base_of(Link piece) const noexcept;

  /// Writer only. A full fence of the whole job has ended, and all that it brought is appended.
  void mark_exchanged() noexcept {
    header_->exchanged.store(header_->used.load(std::memory_order_relaxed),
                             std::memory_order_release);  // RC.X1 -> X2
  }
  /// Any process. Is the newest piece of this rank one that was here when the last full fence ended (I6)?
  bool is_exchanged(Link link) const noexcept {
    return link != 0 &&
           (std::uint64_t{link} - 1) * 2 < header_->exchanged.load(std::memory_order_acquire);  // RC.X2 <- X1
  }

  /// Any process. The position up to which the rank's own log is known here; 0: not at all.
  std::uint64_t known(Link link) const noexcept;

  /// Of a value that does not lie whole in the cards: the record borrows from it.
  using Whole = WholeValue;

  /// Any process. link: loaded with acquire (RC.R2 <- R1). hash: hash_key(key). The newest record of that key
  /// whose scope's bit is set in `scopes`. Cost: the entries of the rank's pieces, newest first. Errors:
  /// not_found, corrupt.
  Result<CardRecord> find(Link link, std::string_view key, std::uint64_t hash, std::uint32_t scopes,
                          Whole& whole) const;

  /// Any process. All records of a rank, oldest first. whole: of those that want it, added to it. Errors:
  /// corrupt.
  Result<std::vector<CardRecord>> all(Link link, std::deque<Whole>& whole) const;

  /// A view of these cards for a reader that has no more than the first `bytes` of them mapped.
  RemoteCards up_to(std::uint64_t bytes) const noexcept {
    auto out = *this;
    out.capacity_ = std::min(capacity_, bytes);
    return out;
  }

  const Header& header() const noexcept { return *header_; }
  std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  struct Entry;
  struct Base;
  /// A piece that was checked: its entries end, and its bodies end at or before the limit.
  struct Piece {
    static constexpr std::uint64_t no_base = ~std::uint64_t{0};
    std::uint64_t begin;
    Link before;
    std::uint64_t end;  ///< position in the rank's log
    std::uint64_t base;
    std::uint64_t entries, bodies;  ///< offsets, as `begin` and `base`
  };
  /// Reads all fields but `bodies`. False: the head does not end within the limit.
  bool read_head(std::uint64_t offset, std::uint64_t limit, Piece& piece) const noexcept;
  /// Calls see(entry, offset of its body from the first) for each entry of the piece at `offset`.
  template <class See>
  Result<Piece> scan(std::uint64_t offset, std::uint64_t limit, See&& see) const noexcept;
  Base base_at(Link link) const noexcept;
  bool read_entry(std::uint64_t& at, std::uint64_t limit, Entry& entry) const noexcept;
  std::byte* write_records(std::byte* entry, std::span<const CardRecord> records, const Base& base,
                           bool& has_like) const noexcept;
  Result<void> back(std::uint64_t from, std::uint64_t to) noexcept;
  CardRecord record(const Entry& entry, std::uint64_t body) const noexcept;
  /// value: the difference from the base's, if it has one.
  struct Stored {
    CardRecord record;
    bool has_base = false;
    Bytes base{};
  };
  Result<Stored> stored(const Piece& piece, const Entry& entry, std::uint64_t body) const noexcept;
  static Result<CardRecord> whole_record(const Stored& stored, Whole& whole);

  Header* header_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t backed_ = 0;  ///< writer: there are pages up to here, from its first append on
};

}  // namespace weft::store
