// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/cards/record_check.hpp"

#include <sodium/crypto_shorthash.h>
#include <xxhash.h>

#include <cstring>

namespace weft::store {
namespace {

static_assert(2 * crypto_shorthash_KEYBYTES == sizeof CardKey::raw);
static_assert(crypto_shorthash_BYTES == sizeof(std::uint64_t));

std::uint64_t sip_hash(const void* bytes, std::size_t size, const std::uint8_t* key) noexcept {
  std::uint64_t out = 0;
  crypto_shorthash(reinterpret_cast<unsigned char*>(&out), static_cast<const unsigned char*>(bytes), size,
                   key);
  return out;
}

}  // namespace

std::uint64_t RecordCheck::of(Bytes record, std::uint64_t offset) const noexcept {
  if (key_ == nullptr) return XXH3_64bits(record.data(), record.size());
  const auto* const raw = key_->raw.data();
  const std::uint64_t placed[] = {sip_hash(record.data(), record.size(), raw), offset, rank_};
  return sip_hash(placed, sizeof placed, raw + crypto_shorthash_KEYBYTES);
}

}  // namespace weft::store
