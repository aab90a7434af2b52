// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/remote_cards.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/store/cards/varint.hpp"
#include "pmix_common.h"
#include "transport/shm/segment.hpp"

namespace weft::store {
namespace {

constexpr std::uint32_t value_mask = 0x1fff, key_mask = 0x1ff, global_bit = 1u << 22, last_bit = 1u << 23;
constexpr unsigned key_shift = 13, hash_shift = 24;
/// A difference that saves fewer bytes is not worth the work of each read.
constexpr std::size_t least_saved = 8;

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

/// The number that a piece begins with behind its link.
std::uint64_t end_and_base(std::uint64_t end, bool has_base) noexcept {
  return end / 4 + (has_base ? 1 : 0);
}

/// True for a position in a log: a multiple of 8, below 32 GiB.
bool is_position(std::uint64_t at) noexcept {
  return (at & 7) == 0 && at >> 35 == 0;
}

std::byte* put_bytes(std::byte* to, Bytes bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

}  // namespace

struct RemoteCards::Entry {
  std::uint32_t word;
  std::uint32_t value_bytes;

  /// Of itself.
  std::uint64_t bytes() const noexcept { return (word & value_mask) == value_mask ? 8 : 4; }

  std::size_t key_bytes() const noexcept { return word >> key_shift & key_mask; }
  std::uint8_t scope() const noexcept { return (word & global_bit) != 0 ? PMIX_GLOBAL : PMIX_REMOTE; }
  /// The value of two fields in the entry of a key: its hash, and its bytes, which a base may have.
  static constexpr std::uint32_t hash_field = 0xffu << hash_shift, key_field = key_mask << key_shift;
  static std::uint32_t of_key(std::size_t key_bytes, std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash & 0xff) << hash_shift | static_cast<std::uint32_t>(key_bytes)
                                                                       << key_shift;
  }
};

/// The first records of a piece, as one that has it as its base sees them.
struct RemoteCards::Base {
  struct One {
    CardRecord record;
    std::uint64_t entry, body;  ///< where they are, from the begin on

    /// The body of an entry of `like` without a key, written to `to`. Returns its bytes; 0: it would not save
    /// enough. There is room for the record as it is.
    std::size_t write_like(std::byte* to, const CardRecord& like) const noexcept {
      const auto plain = like.key.size() + like.value.size();
      const auto places = varint_bytes(entry) + varint_bytes(body);
      if (plain <= places + least_saved) return 0;
      const auto bytes =
          write_difference(like.value, record.value, {to + places, plain - places - least_saved});
      if (bytes == 0) return 0;
      put_varint(put_varint(to, entry), body);
      return places + bytes;
    }
  };
  std::uint64_t begin = 0;
  std::array<One, 16> all;
  std::size_t count = 0;

  /// The one with that key, which is likely to be the one of that number; null: none has it.
  const One* find(std::string_view key, std::size_t likely) const noexcept {
    if (likely < count && all[likely].record.key == key) return &all[likely];
    const auto* const end = all.data() + count;
    const auto* const found =
        std::find_if(all.data(), end, [key](const One& each) { return each.record.key == key; });
    return found == end ? nullptr : found;
  }
};

Result<void> RemoteCards::append(std::atomic<Link>& link, const Card& card, Link base) noexcept {
  const auto records = card.records;
  if (!is_position(card.from) || !is_position(card.to) || card.from > card.to)
    return fail(Errc::invalid, "a card's position");
  const auto used = header_->used.load(std::memory_order_relaxed);  // only the writer stores it (I1)
  if (used > capacity_ || (used & 1) != 0) return fail(Errc::corrupt, "remote cards' bounds");
  const Link before = link.load(std::memory_order_relaxed);  // only the writer stores it (I1)
  const auto here = known(before);
  if (records.empty() || card.to <= here) return {};
  if (card.from > here) return fail(Errc::again, "a part before it is missing");  // I5
  const auto from = base_at(base);
  const bool has_base = from.count != 0;
  const auto distance = (used - from.begin) / 2;
  std::uint64_t bytes =
      sizeof before + varint_bytes(end_and_base(card.to, has_base)) + (has_base ? varint_bytes(distance) : 0);
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
  std::byte* const end_field = put_word(data_ + used, before);
  std::byte* const base_field = put_varint(end_field, end_and_base(card.to, has_base));
  std::byte* const entries = has_base ? put_varint(base_field, distance) : base_field;
  bool has_like = false;
  auto* end = write_records(entries, records, from, has_like);
  if (has_base && !has_like) {  // the other number has as many bytes
    put_varint(end_field, end_and_base(card.to, false));
    end = std::copy(entries, end, base_field);
  }
  auto taken = static_cast<std::uint64_t>(end - (data_ + used));
  taken += taken & 1;
  if (has_like) header_->saved.fetch_add(bytes - taken, std::memory_order_relaxed);
  header_->used.store(used + taken, std::memory_order_relaxed);  // before the link (Crash)
  header_->pieces.fetch_add(1, std::memory_order_relaxed);
  link.store(static_cast<Link>(used / 2 + 1), std::memory_order_release);  // RC.R1 -> R2: bytes first (I2)
  return {};
}

/// Returns the end of the bodies. There is room for the records as they are.
std::byte* RemoteCards::write_records(std::byte* entry, std::span<const CardRecord> records, const Base& base,
                                      bool& has_like) const noexcept {
  std::byte* body = entry;
  for (const auto& record : records) body += is_long(record.value.size()) ? 8 : 4;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto& record = records[i];
    const auto* const one = base.find(record.key, i);
    const auto coded = one == nullptr ? 0 : one->write_like(body, record);
    const bool is_like = coded != 0;
    has_like |= is_like;
    const auto value = static_cast<std::uint32_t>(is_like ? coded : record.value.size());
    const auto key = Entry::of_key(is_like ? 0 : record.key.size(), hash_key(record.key));
    const bool is_long_entry = is_long(record.value.size());
    entry = put_word(entry, key | (is_long_entry ? value_mask : value) |
                                (record.scope == PMIX_GLOBAL ? global_bit : 0) |
                                (i + 1 == records.size() ? last_bit : 0));
    if (is_long_entry) entry = put_word(entry, value);
    body = is_like ? body + value : put_bytes(put_bytes(body, as_bytes(record.key)), record.value);
  }
  return body;
}

RemoteCards::Base RemoteCards::base_at(Link link) const noexcept {
  Base out;
  if (link == 0) return out;
  out.begin = (std::uint64_t{link} - 1) * 2;
  std::array<Entry, std::tuple_size_v<decltype(out.all)>> entries;
  std::size_t count = 0;
  std::uint64_t entry_at = 0;
  const auto piece = scan(out.begin, capacity_, [&](const Entry& entry, std::uint64_t body) {
    if (count == entries.size()) return;
    entries[count] = entry;
    out.all[count++] = {{}, entry_at, body};
    entry_at += entry.bytes();
  });
  if (!piece || piece->base != Piece::no_base) return out;
  for (; out.count < count; ++out.count) {
    auto& one = out.all[out.count];
    one.record = record(entries[out.count], piece->bodies + one.body);
    one.entry += piece->entries - out.begin;
    one.body += piece->bodies - out.begin;
  }
  return out;
}

RemoteCards::Link RemoteCards::base_of(Link piece) const noexcept {
  Piece head;
  const bool has_base =
      piece != 0 && read_head((std::uint64_t{piece} - 1) * 2, capacity_, head) && head.base != Piece::no_base;
  return has_base ? static_cast<Link>(head.base / 2 + 1) : 0;
}

/// Pages for what is about to be written between these offsets; the one of the byte before is there.
Result<void> RemoteCards::back(std::uint64_t from, std::uint64_t to) noexcept {
  const auto next_page = std::max(backed_, shm::page_aligned(sizeof(Header) + from) - sizeof(Header));
  if (to <= next_page) return {};
  if (auto ok = shm::populate(data_ + next_page, to - next_page); !ok) return ok;
  backed_ = shm::page_aligned(sizeof(Header) + to) - sizeof(Header);
  return {};
}

inline bool RemoteCards::read_head(std::uint64_t offset, std::uint64_t limit, Piece& piece) const noexcept {
  if (offset >= limit || limit - offset < sizeof piece.before) return false;
  std::memcpy(&piece.before, data_ + offset, sizeof piece.before);
  piece.begin = offset;
  piece.entries = offset + sizeof piece.before;
  const Bytes readable{data_, limit};
  if (!read_varint(readable, piece.entries, piece.end)) return false;
  const bool has_base = (piece.end & 1) != 0;
  piece.end = piece.end / 2 * 8;
  std::uint64_t distance = 0;
  if (has_base && !read_varint(readable, piece.entries, distance)) return false;
  piece.base = has_base ? offset - 2 * distance : Piece::no_base;
  return distance <= offset / 2 && has_base == (distance != 0);  // I3
}

std::uint64_t RemoteCards::known(Link link) const noexcept {
  Piece newest;
  return link != 0 && read_head((std::uint64_t{link} - 1) * 2, capacity_, newest) ? newest.end : 0;
}

/// at: at most the limit; moves behind the entry. False: that does not end within the limit. Where the next
/// entry is has to be a guess of the processor, by the branch, and not a sum that waits for this one.
inline bool RemoteCards::read_entry(std::uint64_t& at, std::uint64_t limit, Entry& entry) const noexcept {
  if (limit - at < 4) return false;
  std::memcpy(&entry.word, data_ + at, 4);
  entry.value_bytes = entry.word & value_mask;
  at += 4;
  if (entry.value_bytes == value_mask) [[unlikely]] {
    if (limit - at < 4) return false;
    std::memcpy(&entry.value_bytes, data_ + at, 4);
    at += 4;
  }
  return true;
}

template <class See>
Result<RemoteCards::Piece> RemoteCards::scan(std::uint64_t offset, std::uint64_t limit,
                                             See&& see) const noexcept {
  Piece piece{};
  if (!read_head(offset, limit, piece)) return fail(Errc::corrupt, "remote card link");  // I3
  std::uint64_t at = piece.entries, body = 0;
  for (bool last = false; !last;) {
    Entry entry;
    if (!read_entry(at, limit, entry)) return fail(Errc::corrupt, "remote card entry");
    if (entry.key_bytes() == 0 && (piece.base == Piece::no_base || entry.value_bytes == 0))
      return fail(Errc::corrupt, "remote card entry");
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

/// body: of the entry, an offset that was checked. Errors: corrupt.
Result<RemoteCards::Stored> RemoteCards::stored(const Piece& piece, const Entry& entry,
                                                std::uint64_t body) const noexcept {
  if (entry.key_bytes() != 0) return Stored{record(entry, body)};
  const auto corrupt = [] { return fail(Errc::corrupt, "base of a remote card"); };
  if (piece.base == Piece::no_base) return corrupt();  // the entry has changed since: the job was retired
  const Bytes bytes{data_ + body, entry.value_bytes};
  std::uint64_t at = 0, entry_at = 0, body_at = 0;
  if (!read_varint(bytes, at, entry_at) || !read_varint(bytes, at, body_at)) return corrupt();
  // A base ends before the piece: I3.
  if (piece.begin - piece.base < entry_at || piece.begin - piece.base < body_at) return corrupt();
  Entry like;
  entry_at += piece.base;
  if (!read_entry(entry_at, piece.begin, like)) return corrupt();
  const auto room = piece.begin - piece.base - body_at;
  if (like.key_bytes() == 0 || like.key_bytes() + std::uint64_t{like.value_bytes} > room) return corrupt();
  const auto base = record(like, piece.base + body_at);
  return Stored{{entry.scope(), base.key, bytes.subspan(at)}, true, base.value};
}

Result<CardRecord> RemoteCards::whole_record(const Stored& stored, Whole& whole) {
  if (!stored.has_base) return stored.record;
  const auto value = apply_difference(stored.record.value, stored.base, whole);
  if (!value) return fail(value.error());
  return CardRecord{stored.record.scope, stored.record.key, *value};
}

Result<CardRecord> RemoteCards::find(Link link, std::string_view key, std::uint64_t hash,
                                     std::uint32_t scopes, Whole& whole) const {
  if (key.size() > max_key_bytes) return fail(Errc::not_found);
  const auto wanted = Entry::of_key(key.size(), hash);
  const auto may_be = [wanted, scopes](const Entry& entry) {
    const auto other = entry.word ^ wanted;
    if ((other & Entry::hash_field) != 0) [[likely]]
      return false;
    const bool is_of_length = (other & Entry::key_field) == 0 || entry.key_bytes() == 0;
    return is_of_length && (scopes >> entry.scope() & 1) != 0;
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
      const auto one = stored(*piece, newest, piece->bodies + body);
      if (one && one->record.key == key) return whole_record(*one, whole);
    }
    if (candidates > 1) {  // several entries with this hash: compares the key of each
      std::optional<Stored> found;
      const auto room = limit - piece->bodies;
      (void)scan(offset, limit, [&](const Entry& entry, std::uint64_t at) {
        // Checked again: the entries may have changed if the job was retired.
        if (!may_be(entry) || at > room || entry.key_bytes() + entry.value_bytes > room - at) return;
        const auto one = stored(*piece, entry, piece->bodies + at);
        if (one && one->record.key == key) found = *one;
      });
      if (found) return whole_record(*found, whole);
    }
    limit = offset;
    link = piece->before;
  }
  return fail(Errc::not_found);
}

Result<std::vector<CardRecord>> RemoteCards::all(Link link, std::deque<Whole>& whole) const {
  std::vector<CardRecord> records;
  std::vector<std::pair<Entry, std::uint64_t>> entries;
  for (std::uint64_t limit = capacity_; link != 0;) {
    const auto offset = (std::uint64_t{link} - 1) * 2;
    entries.clear();
    const auto piece =
        scan(offset, limit, [&](const Entry& entry, std::uint64_t at) { entries.emplace_back(entry, at); });
    if (!piece) return fail(piece.error());
    // In reverse order for now: the newest piece first, and its newest record.
    for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
      const auto one = stored(*piece, entry->first, piece->bodies + entry->second);
      if (!one) return fail(one.error());
      if (!one->has_base) {
        records.push_back(one->record);
        continue;
      }
      const auto record = whole_record(*one, whole.emplace_back());
      if (!record) return fail(record.error());
      records.push_back(*record);
    }
    limit = offset;
    link = piece->before;
  }
  std::reverse(records.begin(), records.end());
  return records;
}

}  // namespace weft::store
