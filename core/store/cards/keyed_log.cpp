// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/keyed_log.hpp"

#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "transport/shm/segment.hpp"

namespace weft::store {
namespace {

constexpr std::uint64_t max_value_bytes = 0xffffffff;  // RecordHeader::value_bytes
constexpr std::uint64_t gap_mark = 0x50414757;         // "WGAP"
constexpr std::uint8_t max_scope = 15;
constexpr std::uint64_t padded(std::uint64_t n) {
  return (n + 7) & ~std::uint64_t{7};
}

}  // namespace

std::uint64_t hash_key(std::string_view key) noexcept {
  return XXH3_64bits(key.data(), key.size());
}

std::uint64_t KeyedLog::record_bytes(std::size_t key, std::size_t value) noexcept {
  return padded(sizeof(RecordHeader) + key + value);
}

Result<std::uint64_t> KeyedLog::end_after(std::uint64_t end, std::uint64_t bytes) const noexcept {
  if (end < first_ && bytes > first_ - end) end = first_;  // no record crosses the boundary
  if (bytes > capacity_ - end) return fail(Errc::no_space, "log is full");
  return end + bytes;
}

Result<void> KeyedLog::append(const Record& record) noexcept {
  if (record.key.empty() || record.key.size() > max_key_bytes) return fail(Errc::invalid, "key length");
  if (record.scope > max_scope) return fail(Errc::invalid, "scope");
  const auto published =
      header_->published.load(std::memory_order_relaxed);  // only the writer stores it (I1)
  if (!sound(published)) return fail(Errc::corrupt, "log bounds");
  const auto need = record_bytes(record.key.size(), record.value.size());
  if (record.value.size() > std::min(capacity_, max_value_bytes)) return fail(Errc::no_space, "log is full");
  const auto end = end_after(published, need);
  if (!end) return fail(end.error());
  const auto offset = *end - need;
  if (offset != published && first_ - published >= sizeof(RecordHeader)) {
    RecordHeader gap{};
    gap.check =
        gap_mark;  // not zeros: a read from another node may find zeros where a record is being written
    std::memcpy(at(published), &gap, sizeof gap);
  }

  const auto hash = hash_key(record.key);
  auto& head = heads_[bucket(record.owner, hash)];
  const RecordHeader h{.check = 0,
                       .previous = head.load(std::memory_order_relaxed),  // only the writer stores it (I1)
                       .index = record.owner.index,
                       .value_bytes = static_cast<std::uint32_t>(record.value.size()),
                       .hash = static_cast<std::uint16_t>(hash),
                       .key_bytes = static_cast<std::uint16_t>(record.key.size()),
                       .realm = static_cast<std::uint16_t>(record.owner.realm),
                       .scope = record.scope};
  std::byte* to = at(offset);
  std::memcpy(to, &h, sizeof h);
  std::memcpy(to + sizeof h, record.key.data(), record.key.size());
  if (!record.value.empty())
    std::memcpy(to + sizeof h + record.key.size(), record.value.data(), record.value.size());
  const auto check = check_.of(checked(to, h), offset);
  std::memcpy(to, &check, sizeof check);
  header_->published.store(*end, std::memory_order_release);  // KL.P1 -> P2: bytes first
  head.store(static_cast<std::uint32_t>(offset / 8 + 1),
             std::memory_order_release);  // KL.F1 -> F2: published first (I4)
  return {};
}

Result<void> KeyedLog::back(std::uint64_t end) noexcept {
  // The kernel maps up to 16 present pages around a fault: pages that come 16 at a time cost each reader of a
  // card one fault for all of them.
  const bool is_card = rest_ != nullptr;
  const std::uint64_t granule = is_card ? 16 * shm::page_bytes : shm::page_bytes;
  std::byte* const piece = is_card ? rest_ : data_ - sizeof(Header);
  const std::uint64_t before = is_card ? first_ : 0, front = is_card ? 0 : sizeof(Header);
  const auto pages = [&](std::uint64_t to) {
    const auto bytes = to > before ? to - before + front : front;
    return std::min((bytes + granule - 1) / granule * granule, capacity_ - before + front);
  };
  const auto from = pages(published()), until = pages(end);
  return until > from ? shm::populate(piece + from, until - from) : Result<void>();
}

bool KeyedLog::gap_at(std::uint64_t offset, std::uint64_t end) const noexcept {
  return offset < first_ && end > first_ && is_gap({at(offset), first_ - offset});
}

bool KeyedLog::is_gap(Bytes rest_of_piece) noexcept {
  RecordHeader h;
  if (rest_of_piece.size() < sizeof h) return true;
  std::memcpy(&h, rest_of_piece.data(), sizeof h);
  return h.key_bytes == 0 && h.check == gap_mark;
}

std::uint64_t KeyedLog::length_of(const RecordHeader& h) noexcept {
  return padded(sizeof h + std::uint64_t{h.key_bytes} + h.value_bytes);
}

Record KeyedLog::record_at(const std::byte* bytes, const RecordHeader& h) noexcept {
  const std::byte* key = bytes + sizeof h;
  return {.owner = {static_cast<Realm>(h.realm), h.index},
          .scope = static_cast<std::uint8_t>(h.scope),
          .key = {reinterpret_cast<const char*>(key), h.key_bytes},
          .value = {key + h.key_bytes, h.value_bytes}};
}

Result<std::uint64_t> KeyedLog::read_record(Bytes bytes, Record& out) noexcept {
  RecordHeader h;
  if (bytes.size() < sizeof h) return fail(Errc::corrupt, "record header");
  std::memcpy(&h, bytes.data(), sizeof h);
  const auto length = length_of(h);
  if (length > bytes.size() || h.key_bytes == 0) return fail(Errc::corrupt, "record length");
  out = record_at(bytes.data(), h);
  return length;
}

bool KeyedLog::is_intact(Bytes record, std::uint64_t offset, const RecordCheck& check) noexcept {
  RecordHeader h;
  if (record.size() < sizeof h) return false;
  std::memcpy(&h, record.data(), sizeof h);
  return length_of(h) == record.size() && h.check == check.of(checked(record.data(), h), offset);
}

Result<std::uint64_t> KeyedLog::read(std::uint64_t offset, std::uint64_t end, Record& out) const noexcept {
  const auto length = read_record({at(offset), std::min(end - offset, piece_left(offset))}, out);
  return length ? offset + *length : length;
}

Result<Record> KeyedLog::find(KeyOwner owner, std::string_view key, std::uint64_t hash,
                              std::uint32_t scopes) const noexcept {
  auto link = heads_[bucket(owner, hash)].load(std::memory_order_acquire);  // KL.F2 <- F1
  if (link == 0) return fail(Errc::not_found);
  const auto end = published();
  if (!sound(end)) return fail(Errc::corrupt, "log bounds");
  std::uint64_t limit = end;
  while (link != 0) {
    const std::uint64_t offset = (std::uint64_t{link} - 1) * 8;
    if (offset >= limit) return fail(Errc::corrupt, "index chain");  // I3
    const auto left = std::min(end - offset, piece_left(offset));
    if (left < sizeof(RecordHeader)) return fail(Errc::corrupt, "index chain");
    RecordHeader h;
    const std::byte* bytes = at(offset);
    std::memcpy(&h, bytes, sizeof h);
    if (h.hash == static_cast<std::uint16_t>(hash) && h.index == owner.index &&
        h.realm == static_cast<std::uint16_t>(owner.realm)) {
      if (length_of(h) > left) return fail(Errc::corrupt, "record length");
      if (h.key_bytes == key.size() && std::memcmp(bytes + sizeof h, key.data(), key.size()) == 0 &&
          (scopes >> h.scope & 1) != 0)
        return record_at(bytes, h);
    }
    limit = offset;
    link = h.previous;
  }
  return fail(Errc::not_found);
}

Result<void> KeyedLog::adopt() noexcept {
  const auto end = published();
  if (!sound(end)) return fail(Errc::corrupt, "log bounds");
  std::uint64_t offset = 0, last = 0;
  Record record;
  while (offset < end) {
    if (gap_at(offset, end)) {
      offset = first_;
      continue;
    }
    const auto next = read(offset, end, record);
    if (!next) return fail(next.error());
    last = std::exchange(offset, *next);
  }
  if (end == 0) return {};
  auto& head = heads_[bucket(record.owner, hash_key(record.key))];
  const auto link = static_cast<std::uint32_t>(last / 8 + 1);
  if (head.load(std::memory_order_relaxed) < link)
    head.store(link, std::memory_order_release);  // KL.F1 -> F2
  return {};
}

}  // namespace weft::store
