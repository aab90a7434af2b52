// SPDX-License-Identifier: BSD-3-Clause
// A byte ring in shared memory: one process writes messages, another reads them, and neither trusts the
// other.
//
//   | tail, 1 line (writer) | head, 1 line (reader) | room, 1 line | bytes, `capacity` of them |
//   a message:  | length 4 | of it header 2 | id 2 | header and payload | up to a multiple of 8 |
//   a skip:     | ~0 4 | not used 4 | ... up to the end of the ring: the next message is at its start
//
// A ring has one writer, because a writer that is killed between reserving space in a shared ring and filling
// it would leave a hole that the other writers wait for. Here it loses nothing but its own ring.
//
// M1  One writer, one reader.
// M2  tail and head count bytes since the ring was created. The two only grow, by multiples of 8, and
//     head <= tail <= head + capacity. Byte n is at n % capacity. Bytes between head and tail do not change.
// M3  A message is contiguous and at most capacity / 4 long, so an empty ring takes any message, wherever it
//     starts.
// M4  Each side keeps its own count in private memory and only publishes it in the shared header. The count
//     of the other side is checked against M2 before use; a length is loaded once and then checked; the bytes
//     are copied out before the handler reads them, so nothing changes after it was checked.
// M5  room is a doorbell from the reader to a writer that found the ring full and is about to sleep.
// Crash: a writer that dies inside push() has not stored tail: the message was never sent. A reader that dies
// leaves a ring that fills up. Each side learns of the other's death from the socket (endpoint.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/shm/doorbell.hpp"
#include "weft/transport.hpp"

namespace weft::shm {

struct RingHeader {
  alignas(64) std::atomic<std::uint64_t> tail{0};
  alignas(64) std::atomic<std::uint64_t> head{0};
  Doorbell room;

  static constexpr std::uint32_t skip = ~std::uint32_t{0};
  struct Record {
    std::uint32_t length;
    std::uint16_t header, id;
  };
  static constexpr std::uint64_t padded(std::uint64_t n) { return (n + 7) & ~std::uint64_t{7}; }
  static constexpr std::uint64_t footprint(std::uint64_t capacity) { return sizeof(RingHeader) + capacity; }
};
static_assert(sizeof(RingHeader) == 192 && std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(RingHeader::Record) == 8);

class RingWriter {
 public:
  /// capacity: bytes that follow the header; a power of two, at least 64. The memory of a new ring is all
  /// zero.
  RingWriter(RingHeader& header, std::uint64_t capacity) noexcept
      : header_(header), data_(reinterpret_cast<std::byte*>(&header + 1)), capacity_(capacity) {}

  std::uint64_t max_message() const noexcept { return capacity_ / 4; }

  /// Sends a message of at most max_message() bytes with a header of at most 65535. Errors, which leave the
  /// ring unchanged: again (full), corrupt (the reader's count breaks M2).
  Result<void> push(std::uint16_t id, const Message& message) noexcept {
    const std::uint64_t length = message.header.size() + message.payload.size();
    const std::uint64_t need = sizeof(RingHeader::Record) + RingHeader::padded(length);
    std::uint64_t at = tail_ & (capacity_ - 1), skipped = 0;
    if (capacity_ - at < need) {
      skipped = capacity_ - at;
    } else if (at >= capacity_ / 16 && need <= at) {
      // If the reader keeps up, restarts at the ring's beginning and so stays in the same few pages: less
      // memory, and warm caches.
      if (!refresh_head()) return fail(Errc::corrupt, "the reader's count");
      if (head_ == tail_) skipped = capacity_ - at;
    }
    if (tail_ - head_ + skipped + need > capacity_) {
      if (!refresh_head()) return fail(Errc::corrupt, "the reader's count");
      if (tail_ - head_ + skipped + need > capacity_) return fail(Errc::again);
    }
    if (skipped != 0) {
      put(at, {RingHeader::skip, 0, 0});
      at = 0;
    }
    put(at, {static_cast<std::uint32_t>(length), static_cast<std::uint16_t>(message.header.size()), id});
    std::byte* to = data_ + at + sizeof(RingHeader::Record);
    if (!message.header.empty()) std::memcpy(to, message.header.data(), message.header.size());
    to += message.header.size();
    if (!message.payload.empty()) std::memcpy(to, message.payload.data(), message.payload.size());
    tail_ += skipped + need;
    header_.tail.store(tail_, std::memory_order_release);  // MR.T1 -> T2: bytes first
    return {};
  }

  /// After `again`: true once the reader has read more. Before it sleeps, the writer calls want_room() and
  /// then this once more; the reader rings from then on.
  bool has_room_now() const noexcept {
    return header_.head.load(std::memory_order_acquire) != head_;  // MR.H2 <- H1
  }
  void want_room() noexcept { header_.room.asleep(); }
  void have_room() noexcept { header_.room.awake(); }

 private:
  bool refresh_head() noexcept {
    const auto head =
        header_.head.load(std::memory_order_acquire);  // MR.H2 <- H1: those bytes were copied out
    if (tail_ - head > capacity_ || (head & 7) != 0) return false;  // M4
    head_ = head;
    return true;
  }
  void put(std::uint64_t at, const RingHeader::Record& record) noexcept {
    std::memcpy(data_ + at, &record, sizeof record);
  }

  RingHeader& header_;
  std::byte* data_;
  std::uint64_t capacity_;
  std::uint64_t tail_ = 0;  // M4
  std::uint64_t head_ = 0;  // as last loaded
};

class RingReader {
 public:
  RingReader(RingHeader& header, std::uint64_t capacity) noexcept
      : header_(header), data_(reinterpret_cast<std::byte*>(&header + 1)), capacity_(capacity) {}

  bool is_empty() const noexcept {
    return header_.tail.load(std::memory_order_acquire) == head_;  // MR.T2 <- T1
  }

  /// Calls visit(id, message) for each message that was in the ring at the start of the call, with the bytes
  /// copied to `into` (at least capacity / 4 of them). Returns their number. Error: corrupt; the ring must
  /// not be read any further.
  template <class Visit>
  Result<std::size_t> drain(std::span<std::byte> into, Visit&& visit) noexcept {
    const auto tail = header_.tail.load(std::memory_order_acquire);  // MR.T2 <- T1
    if (tail - head_ > capacity_ || (tail & 7) != 0) return fail(Errc::corrupt, "the writer's count");
    std::size_t count = 0;
    while (head_ != tail) {
      const std::uint64_t at = head_ & (capacity_ - 1), to_end = capacity_ - at;
      const std::uint64_t left = std::min(tail - head_, to_end);
      const auto record = get(at);
      if (record.length == RingHeader::skip) {
        if (left != to_end) return fail(Errc::corrupt, "a skip beyond what was written");
        advance(to_end);
        continue;
      }
      const std::uint64_t whole = sizeof record + RingHeader::padded(record.length);
      if (record.length > capacity_ / 4 || record.header > record.length || whole > left)
        return fail(Errc::corrupt, "a message's lengths");
      if (record.length != 0) std::memcpy(into.data(), data_ + at + sizeof record, record.length);
      advance(whole);
      ++count;
      const Bytes bytes = Bytes(into).first(record.length);
      visit(record.id, Message{bytes.first(record.header), bytes.subspan(record.header)});
    }
    return count;
  }

  /// To be called after drain(). True: the writer sleeps until there is room, and the caller must wake it.
  [[nodiscard]] bool ring() noexcept { return header_.room.ring(); }

 private:
  RingHeader::Record get(std::uint64_t at) noexcept {
    // An atomic load, so that a compiler cannot load it again after the check.
    std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(data_ + at));
    return std::bit_cast<RingHeader::Record>(word.load(std::memory_order_relaxed));  // ordered by MR.T2
  }
  void advance(std::uint64_t bytes) noexcept {
    head_ += bytes;
    header_.head.store(head_, std::memory_order_release);  // MR.H1 -> H2: copied first
  }

  RingHeader& header_;
  std::byte* data_;
  std::uint64_t capacity_;
  std::uint64_t head_ = 0;  // M4
};

}  // namespace weft::shm
