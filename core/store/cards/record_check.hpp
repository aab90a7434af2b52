// SPDX-License-Identifier: BSD-3-Clause
// What a record of a card is checked with when a server reads it out of another node's memory.
//
// Such a read is not atomic, so every record carries a hash of itself: torn bytes are found. Where the fabric
// does not say whose bytes arrive (Capabilities::guards_reads), the check is made under a key that only
// servers and ranks of the job have: SipHash-2-4 of the record, and that again with the place where it lies,
// so that a record of another rank, of another job or from elsewhere in the card is refused, too. 64 bits:
// after three refusals the reader asks by a sealed message (core/server/cards/modex.hpp), so a forger has few
// tries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/bytes.hpp"

namespace weft::store {

/// The key of one job (server::card_key). The ranks of the job have it, too: they write the cards.
struct CardKey {
  std::array<std::uint8_t, 32> raw{};
};

class RecordCheck {
 public:
  /// A hash without a key.
  RecordCheck() = default;
  /// key: stays where it is; null: no key. rank: whose card it is.
  RecordCheck(const CardKey* key, std::uint32_t rank) noexcept : key_(key), rank_(rank) {}

  /// offset: where the record begins in the data of its card.
  std::uint64_t of(Bytes record, std::uint64_t offset) const noexcept;

 private:
  const CardKey* key_ = nullptr;
  std::uint32_t rank_ = 0;
};

}  // namespace weft::store
