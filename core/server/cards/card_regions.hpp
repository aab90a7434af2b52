// SPDX-License-Identifier: BSD-3-Clause
// Where the cards of a job lie on a node, as that node tells the others.
#pragma once

#include <vector>

#include "base/wire.hpp"
#include "core/store/cards/keyed_log.hpp"

namespace weft::server {

struct CardRegions {
  static constexpr std::uint64_t most_card_bytes = std::uint64_t{1} << 34;

  std::uint64_t first = 0, capacity = 0;         ///< store::CardShape of each card
  std::uint64_t page_bytes = 0, rest_bytes = 0;  ///< from one card to the next
  std::vector<std::byte> pages, rests;           ///< packed keys of the regions; rests empty: not to be read
  std::vector<std::uint32_t> ranks;              ///< by local index
};
template <class Archive>
void fields(Archive& archive, CardRegions& m) {
  archive(m.first, m.capacity, m.page_bytes, m.rest_bytes, m.pages, m.rests, m.ranks);
}
/// Offsets computed from these numbers do not overflow, and no card overlaps the next.
inline bool is_valid(const CardRegions& m) {
  constexpr auto most = CardRegions::most_card_bytes;
  return m.first <= m.capacity && m.capacity <= most && m.page_bytes <= most && m.rest_bytes <= most &&
         m.page_bytes >= sizeof(store::KeyedLog::Header) + m.first && m.rest_bytes >= m.capacity - m.first;
}

}  // namespace weft::server
