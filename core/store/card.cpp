// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/card.hpp"

#include "pmix_common.h"

namespace weft::store {
namespace {

constexpr std::uint32_t blob_magic = 0x31424657;  // "WFB1"
constexpr std::size_t length_at = 4;

}  // namespace

BlobWriter::BlobWriter() {
  out_.u32(blob_magic);
  out_.u32(0);
}

Result<void> BlobWriter::add(std::string_view nspace, std::uint32_t rank, const KeyedLog& card,
                             std::uint64_t from) {
  out_.text(nspace);
  out_.u32(rank);
  const auto length_of_card = out_.size();
  out_.u32(0);
  const auto end = card.visit(from, [&](const Record& record) {
    if (record.scope != PMIX_REMOTE && record.scope != PMIX_GLOBAL) return;
    out_.u8(record.scope);
    out_.text(record.key);
    out_.bytes(record.value);
  });
  if (!end) return tl::unexpected(end.error());
  out_.patch_u32(length_of_card, static_cast<std::uint32_t>(out_.size() - length_of_card - 4));
  return {};
}

std::vector<std::byte> BlobWriter::finish() && {
  out_.patch_u32(length_at, static_cast<std::uint32_t>(out_.size() - length_at - 4));
  return std::move(out_).take();
}

Result<void> read_cards(Bytes blobs, const std::function<void(const CardRecord&)>& see) {
  data::Reader all(blobs);
  while (all.left() != 0) {
    if (all.u32() != blob_magic) return fail(Errc::corrupt, "not a blob of cards");
    data::Reader blob(all.bytes());
    if (!all.ok()) return fail(Errc::corrupt, "blob length");
    while (blob.left() != 0) {
      CardRecord record{};
      record.nspace = blob.text();
      record.rank = blob.u32();
      data::Reader card(blob.bytes());
      if (!blob.ok()) return fail(Errc::corrupt, "card length");
      while (card.left() != 0) {
        record.scope = card.u8();
        record.key = card.text();
        record.value = card.bytes();
        if (!card.ok()) return fail(Errc::corrupt, "card record");
        see(record);
      }
    }
  }
  return {};
}

}  // namespace weft::store
