// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/card.hpp"

#include <algorithm>
#include <cstring>

#include "pmix_common.h"

namespace weft::store {
namespace {

bool for_others(std::uint8_t scope) noexcept {
  return scope == PMIX_REMOTE || scope == PMIX_GLOBAL;
}

}  // namespace

BlobWriter::BlobWriter(std::uint64_t most) : out_(begin_blob(BlobKind::cards)), most_(most) {}

Result<std::uint64_t> BlobWriter::add(std::string_view nspace, std::uint32_t rank, const KeyedLog& card,
                                      std::uint64_t from) {
  const auto start = out_.size();
  out_.text(nspace == nspace_ ? std::string_view() : nspace);
  out_.u32(rank);
  out_.u32(static_cast<std::uint32_t>(from / 8));
  const auto to_of_card = out_.size(), length_of_card = to_of_card + 4, records = length_of_card + 4;
  out_.u32(0);
  out_.u32(0);
  bool fits = true;
  const auto end = card.visit(from, [&](const Record& record) {
    // Looked at before the copy, so that no more than `most` is ever set aside.
    if (!for_others(record.scope) || !fits) return;
    constexpr std::uint64_t lengths = 1 + 4 + 4;
    fits = out_.size() + lengths + record.key.size() + record.value.size() <= most_;
    if (!fits) return;
    out_.u8(record.scope);
    out_.text(record.key);
    out_.bytes(record.value);
  });
  if (!end || !fits || out_.size() == records) {
    out_.truncate(start);
    if (end && !fits) return fail(Errc::no_space, "the cards of one node are too large for a fence");
    return end ? from : end;
  }
  nspace_ = nspace;
  out_.patch_u32(to_of_card, static_cast<std::uint32_t>(*end / 8));
  out_.patch_u32(length_of_card, static_cast<std::uint32_t>(out_.size() - records));
  return end;
}

std::vector<std::byte> BlobWriter::finish() && {
  return finish_blob(std::move(out_));
}

namespace {

Result<void> read_cards_of(Bytes body, std::vector<CardRecord>& records,
                           const std::function<void(const Card&)>& see) {
  data::Reader blob(body);
  std::string_view nspace;
  while (blob.left() != 0) {
    if (const auto told = blob.text(); !told.empty()) nspace = told;
    const auto rank = blob.u32();
    const auto from = std::uint64_t{blob.u32()} * 8, to = std::uint64_t{blob.u32()} * 8;
    data::Reader card(blob.bytes());
    if (!blob.ok() || nspace.empty() || from > to) return fail(Errc::corrupt, "card head");
    records.clear();
    while (card.left() != 0) {
      const auto scope = card.u8();
      const auto key = card.text();
      records.push_back({scope, key, card.bytes()});
      if (!card.ok()) return fail(Errc::corrupt, "card record");
    }
    see({nspace, rank, from, to, records});
  }
  return {};
}

}  // namespace

Result<void> read_cards(Bytes blobs, const std::function<void(const Card&)>& see) {
  std::vector<CardRecord> records;
  Result<void> read;
  auto seen = read_blobs(blobs, [&](BlobKind kind, Bytes body) {
    if (kind == BlobKind::cards && read) read = read_cards_of(body, records, see);
  });
  return read ? seen : read;
}

namespace {

/// Adds the records of one piece to `out`. at: where it begins in the data of the card.
Result<void> read_piece(Bytes piece, std::uint64_t at, bool goes_on, const RecordCheck& check,
                        std::vector<CardRecord>& out) {
  while (!piece.empty() && !(goes_on && KeyedLog::is_gap(piece))) {
    Record record;
    const auto length = KeyedLog::read_record(piece, record);
    if (!length || !KeyedLog::is_intact(piece.first(*length), at, check))
      return fail(Errc::again, "card being written");
    if (for_others(record.scope)) out.push_back({record.scope, record.key, record.value});
    piece = piece.subspan(*length);
    at += *length;
  }
  return {};
}

}  // namespace

Result<CardImage> read_card_image(Bytes header, const CardWindow& window, CardShape shape,
                                  const RecordCheck& check) {
  CardImage image;
  if (header.size() < sizeof image.published) return fail(Errc::corrupt, "card header");
  std::memcpy(&image.published, header.data(), sizeof image.published);
  const auto end = image.published;
  if (end > shape.capacity || shape.first > shape.capacity || (end & 7) != 0 || window.from > end)
    return fail(Errc::corrupt, "card bounds");
  image.page_bytes = std::min(end, shape.first) - std::min(window.from, shape.first);
  image.rest_bytes = end - window.from - image.page_bytes;
  image.whole = image.page_bytes <= window.page.size() && image.rest_bytes <= window.rest.size();
  if (!image.whole) return image;
  if (auto ok = read_piece(window.page.first(image.page_bytes), window.from, end > shape.first, check,
                           image.records);
      !ok)
    return fail(ok.error());
  if (auto ok = read_piece(window.rest.first(image.rest_bytes), std::max(window.from, shape.first), false,
                           check, image.records);
      !ok)
    return fail(ok.error());
  return image;
}

}  // namespace weft::store
