// SPDX-License-Identifier: BSD-3-Clause
// The cards of ranks on other nodes: the server appends what fences and fetches bring, every process of the node reads,
// nobody waits. One piece a rank and fence. A rank's pieces are a chain, newest first; its link is in its RankEntry, so
// that there is no other index, and nothing to rebuild when cards come.
//
//   | Header, 1 line | piece | piece | ... zero up to capacity |
//                    ^ offset 0      ^ used
//   piece  = u32 link of the rank's piece before it, end, entries, bodies, padding to 2
//   end    = how far the rank's own log is known here with this piece: its position there / 8, seven bits a byte, lowest
//            first, all but the last byte with the eighth bit set
//   entry  = u32: value bytes 13 bits, key bytes 9, global 1 (else remote), last of its piece 1, hash 8. Value bytes of
//            8191 say that the next u32 is the length.
//   body   = key bytes, value bytes, in the order of the entries
//   link   = 0 for none, else 1 + offset / 2
//
// A card of one short key so costs its key and value, 9 bytes and the padding. The entries stand together and have a piece of
// the key's hash, so that a walk over a rank's keys touches few lines: a Get passes its hash and reads one body.
//
// I1  One writer: the server's loop thread. Everybody else maps the cards read-only.
// I2  Bytes that a link leads to never change. A link is stored after the whole piece that it leads to.
// I3  A piece's link to the one before leads strictly backwards, and its records end before the piece that led to it. So
//     every walk ends; a reader refuses what is otherwise, because the job may be retired while it looks: it then finds
//     zeros, or another job's bytes, and stays within the capacity.
// I4  In a piece a later record of a key hides an earlier one, in a chain a newer piece an older one.
// I5  The ends of a chain grow, and each piece begins in the rank's log no later than the one before it ended: whatever
//     order fences and fetches bring news in, nothing older hides it and nothing between is missing.
// I6  `exchanged` is stored after all that a full fence of the whole job brought. A rank whose link leads below it has had
//     nothing brought since: what is not in its pieces it had not committed when it arrived at that fence.
// Crash: `used` is stored before the link. A writer that dies in between leaves bytes that nobody finds, and that no
//     later writer takes for free.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/store/card.hpp"

namespace weft::store {

class RemoteCards {
 public:
  /// What weftinfo can read while the job runs; only `used` matters to the writer.
  struct Header {
    alignas(64) std::atomic<std::uint64_t> used{0};
    std::atomic<std::uint64_t> pieces{0};
    std::atomic<std::uint64_t> refused{0};    ///< cards for which there was no space
    std::atomic<std::uint64_t> exchanged{0};  ///< `used` when the last full fence of the whole job ended
  };
  static_assert(sizeof(Header) == 64 && std::atomic<std::uint64_t>::is_always_lock_free);
  using Link = std::uint32_t;
  /// Links are below it, so that whoever keeps them can use the numbers from here on for something else.
  static constexpr Link end_of_links = 0xffff0000;
  /// Bytes of pieces that links reach: 8 GiB less a little.
  static constexpr std::uint64_t most_bytes = (std::uint64_t{end_of_links} - 1) * 2;

  static constexpr std::uint64_t footprint(std::uint64_t capacity) { return sizeof(Header) + capacity; }

  RemoteCards() = default;
  /// memory: footprint(capacity) bytes, zero when new. capacity: even, at most most_bytes.
  RemoteCards(std::byte* memory, std::uint64_t capacity) noexcept
      : header_(reinterpret_cast<Header*>(memory)), data_(memory + sizeof(Header)), capacity_(capacity) {}

  /// Writer only. A new piece of the rank whose newest one `link` leads to; no piece if nothing in it is new. Errors: again
  /// (something before it is missing, I5), no_space, invalid (a key of no or more than 511 bytes, a scope that stays on its
  /// node, a position that cannot be); nothing has changed then.
  Result<void> append(std::atomic<Link>& link, const Card& card) noexcept;

  /// Writer only. A full fence of the whole job has ended, and all that it brought is appended.
  void mark_exchanged() noexcept {
    header_->exchanged.store(header_->used.load(std::memory_order_relaxed),
                             std::memory_order_release);  // X1 -> X2
  }
  /// Any process. Is the newest piece of this rank one that was here when the last full fence ended (I6)?
  bool is_exchanged(Link link) const noexcept {
    return link != 0 &&
           (std::uint64_t{link} - 1) * 2 < header_->exchanged.load(std::memory_order_acquire);  // X2 <- X1
  }

  /// Any process. How far the rank's own log is known here; 0: not at all.
  std::uint64_t known(Link link) const noexcept;

  /// Any process. link: loaded with acquire (R2 <- R1). hash: hash_key(key). The newest record of that key whose scope's
  /// bit is set in `scopes`. Cost: the entries of the rank's pieces, newest first. Errors: not_found, corrupt.
  Result<CardRecord> find(Link link, std::string_view key, std::uint64_t hash,
                          std::uint32_t scopes) const noexcept;

  /// Any process. All records of a rank, oldest first. Errors: corrupt.
  Result<std::vector<CardRecord>> all(Link link) const;

  const Header& header() const noexcept { return *header_; }
  std::uint64_t capacity() const noexcept { return capacity_; }

 private:
  struct Entry;
  /// A piece whose entries were seen to end, and whose bodies to end at or before the limit.
  struct Piece {
    Link before;
    std::uint64_t end;              ///< position in the rank's log
    std::uint64_t entries, bodies;  ///< offsets
  };
  /// All but `bodies`. False: it does not end within the limit.
  bool read_head(std::uint64_t offset, std::uint64_t limit, Piece& piece) const noexcept;
  /// Calls see(entry, offset of its body from the first) for each entry of the piece at `offset`.
  template <class See>
  Result<Piece> scan(std::uint64_t offset, std::uint64_t limit, See&& see) const noexcept;
  CardRecord record(const Entry& entry, std::uint64_t body) const noexcept;

  Header* header_ = nullptr;
  std::byte* data_ = nullptr;
  std::uint64_t capacity_ = 0;
};

}  // namespace weft::store
