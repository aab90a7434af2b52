// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/remote_cards.hpp"

#include <algorithm>
#include <limits>

#include "pmix_common.h"
#include "transport/shm/segment.hpp"

namespace weft::store {
namespace {

constexpr std::uint32_t value_mask = 0x1fff, key_mask = 0x1ff, global_bit = 1u << 22, last_bit = 1u << 23;
constexpr unsigned key_shift = 13, hash_shift = 24;

bool is_long(std::uint64_t value_bytes) noexcept {
  return value_bytes >= value_mask;
}

std::uint64_t record_bytes(const CardRecord& record) noexcept {
  const std::uint64_t words = is_long(record.value.size()) ? 2 : 1;
  return words * 4 + record.key.size() + record.value.size();
}

bool is_storable(const CardRecord& record) noexcept {
  return !record.key.empty() && record.key.size() <= max_key_bytes &&
         (record.scope == PMIX_REMOTE || record.scope == PMIX_GLOBAL);
}

std::byte* put_word(std::byte* to, std::uint32_t word) noexcept {
  std::memcpy(to, &word, sizeof word);
  return to + sizeof word;
}

/// True for a position in a log: a multiple of 8, below 32 GiB.
bool is_position(std::uint64_t at) noexcept {
  return (at & 7) == 0 && at >> 35 == 0;
}

std::size_t end_bytes(std::uint64_t end) noexcept {
  std::size_t bytes = 1;
  for (end >>= 10; end != 0; end >>= 7) ++bytes;
  return bytes;
}

std::byte* put_end(std::byte* to, std::uint64_t end) noexcept {
  for (end >>= 3; end >= 0x80; end >>= 7) *to++ = std::byte((end & 0x7f) | 0x80);
  *to++ = std::byte(end);
  return to;
}

std::byte* put_bytes(std::byte* to, Bytes bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

struct RemoteCards::Entry {
  std::uint32_t word;
  std::uint32_t value_bytes;

  std::size_t key_bytes() const noexcept { return word >> key_shift & key_mask; }
  std::uint8_t scope() const noexcept { return (word & global_bit) != 0 ? PMIX_GLOBAL : PMIX_REMOTE; }
  /// The value of these two fields in the entry of a key.
  static constexpr std::uint32_t key_fields = 0xffu << hash_shift | key_mask << key_shift;
  static std::uint32_t of_key(std::size_t key_bytes, std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash & 0xff) << hash_shift | static_cast<std::uint32_t>(key_bytes)
                                                                       << key_shift;
  }
};

Result<void> RemoteCards::append(std::atomic<Link>& link, const Card& card) noexcept {
  const auto records = card.records;
  if (!is_position(card.from) || !is_position(card.to) || card.from > card.to)
    return fail(Errc::invalid, "a card's position");
  const auto used = header_->used.load(std::memory_order_relaxed);  // only the writer stores it (I1)
  if (used > capacity_ || (used & 1) != 0) return fail(Errc::corrupt, "remote cards' bounds");
  const Link before = link.load(std::memory_order_relaxed);  // only the writer stores it (I1)
  const auto here = known(before);
  if (records.empty() || card.to <= here) return {};
  if (card.from > here) return fail(Errc::again, "a part before it is missing");  // I5
  std::uint64_t bytes = sizeof before + end_bytes(card.to);
  for (const auto& record : records) {
    if (!is_storable(record)) return fail(Errc::invalid, "a card's record");
    const bool fits = record.value.size() <= std::numeric_limits<std::uint32_t>::max();
    bytes += fits ? record_bytes(record) : capacity_;
    if (bytes > capacity_ - used) {
      header_->refused.fetch_add(1, std::memory_order_relaxed);
      return fail(Errc::no_space, "the remote cards are full");
    }
  }
  bytes += bytes & 1;  // within the capacity, which is even like `used`
  if (auto ok = back(used, used + bytes); !ok) return ok;
  std::byte* to = put_end(put_word(data_ + used, before), card.to);
  for (const auto& record : records) {
    const auto value = static_cast<std::uint32_t>(record.value.size());
    const auto key = Entry::of_key(record.key.size(), hash_key(record.key));
    const bool last = &record == &records.back();
    to = put_word(to, key | std::min(value, value_mask) | (record.scope == PMIX_GLOBAL ? global_bit : 0) |
                          (last ? last_bit : 0));
    if (is_long(value)) to = put_word(to, value);
  }
  for (const auto& record : records) to = put_bytes(put_bytes(to, as_bytes(record.key)), record.value);
  header_->used.store(used + bytes, std::memory_order_relaxed);  // before the link (Crash)
  header_->pieces.fetch_add(1, std::memory_order_relaxed);
  link.store(static_cast<Link>(used / 2 + 1), std::memory_order_release);  // RC.R1 -> R2: bytes first (I2)
  return {};
}

/// Pages for what is about to be written between these offsets; the one of the byte before is there.
Result<void> RemoteCards::back(std::uint64_t from, std::uint64_t to) noexcept {
  const auto next_page = shm::page_aligned(sizeof(Header) + from) - sizeof(Header);
  return to > next_page ? shm::populate(data_ + next_page, to - next_page) : Result<void>();
}

inline bool RemoteCards::read_head(std::uint64_t offset, std::uint64_t limit, Piece& piece) const noexcept {
  if (offset >= limit || limit - offset < sizeof piece.before + 1) return false;
  std::memcpy(&piece.before, data_ + offset, sizeof piece.before);
  piece.entries = offset + sizeof piece.before;
  piece.end = 0;
  for (unsigned shift = 3; shift <= 31 && piece.entries != limit; shift += 7) {
    const auto part = std::to_integer<std::uint64_t>(data_[piece.entries++]);
    piece.end |= (part & 0x7f) << shift;
    if (part < 0x80) return true;
  }
  return false;
}

std::uint64_t RemoteCards::known(Link link) const noexcept {
  Piece newest;
  return link != 0 && read_head((std::uint64_t{link} - 1) * 2, capacity_, newest) ? newest.end : 0;
}

template <class See>
Result<RemoteCards::Piece> RemoteCards::scan(std::uint64_t offset, std::uint64_t limit,
                                             See&& see) const noexcept {
  Piece piece{};
  if (!read_head(offset, limit, piece)) return fail(Errc::corrupt, "remote card link");  // I3
  std::uint64_t at = piece.entries, body = 0;
  for (bool last = false; !last;) {
    Entry entry;
    if (limit - at < 4) return fail(Errc::corrupt, "remote card entry");
    std::memcpy(&entry.word, data_ + at, 4);
    entry.value_bytes = entry.word & value_mask;
    at += 4;
    if (entry.value_bytes == value_mask) {
      if (limit - at < 4) return fail(Errc::corrupt, "remote card entry");
      std::memcpy(&entry.value_bytes, data_ + at, 4);
      at += 4;
    }
    if (entry.key_bytes() == 0) return fail(Errc::corrupt, "remote card entry");
    see(entry, body);
    body += entry.key_bytes() + entry.value_bytes;
    last = (entry.word & last_bit) != 0;
  }
  piece.bodies = at;
  if (body > limit - at) return fail(Errc::corrupt, "remote card length");
  return piece;
}

CardRecord RemoteCards::record(const Entry& entry, std::uint64_t body) const noexcept {
  const auto* key = data_ + body;
  return {entry.scope(),
          {reinterpret_cast<const char*>(key), entry.key_bytes()},
          {key + entry.key_bytes(), entry.value_bytes}};
}

Result<CardRecord> RemoteCards::find(Link link, std::string_view key, std::uint64_t hash,
                                     std::uint32_t scopes) const noexcept {
  if (key.size() > max_key_bytes) return fail(Errc::not_found);
  const auto wanted = Entry::of_key(key.size(), hash);
  const auto may_be = [&](const Entry& entry) {
    return (entry.word & Entry::key_fields) == wanted && (scopes >> entry.scope() & 1) != 0;
  };
  for (std::uint64_t limit = capacity_; link != 0;) {
    const auto offset = (std::uint64_t{link} - 1) * 2;
    Entry newest{};
    std::uint64_t body = 0;
    unsigned candidates = 0;
    const auto piece = scan(offset, limit, [&](const Entry& entry, std::uint64_t at) {
      if (!may_be(entry)) return;
      newest = entry;
      body = at;
      ++candidates;
    });
    if (!piece) return fail(piece.error());
    if (candidates != 0) {
      auto found = record(newest, piece->bodies + body);
      if (found.key == key) return found;
    }
    if (candidates > 1) {  // several entries with this hash: compares the key of each
      CardRecord found{};
      const auto room = limit - piece->bodies;
      (void)scan(offset, limit, [&](const Entry& entry, std::uint64_t at) {
        // Checked again: the entries may have changed if the job was retired.
        if (!may_be(entry) || at > room || entry.key_bytes() + entry.value_bytes > room - at) return;
        const auto one = record(entry, piece->bodies + at);
        if (one.key == key) found = one;
      });
      if (!found.key.empty()) return found;
    }
    limit = offset;
    link = piece->before;
  }
  return fail(Errc::not_found);
}

Result<std::vector<CardRecord>> RemoteCards::all(Link link) const {
  std::vector<CardRecord> records;
  std::vector<std::pair<Entry, std::uint64_t>> entries;
  for (std::uint64_t limit = capacity_; link != 0;) {
    const auto offset = (std::uint64_t{link} - 1) * 2;
    entries.clear();
    const auto piece =
        scan(offset, limit, [&](const Entry& entry, std::uint64_t at) { entries.emplace_back(entry, at); });
    if (!piece) return fail(piece.error());
    // In reverse order for now: the newest piece first, and its newest record.
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry)
      records.push_back(record(entry->first, piece->bodies + entry->second));
    limit = offset;
    link = piece->before;
  }
  std::reverse(records.begin(), records.end());
  return records;
}

}  // namespace weft::store
