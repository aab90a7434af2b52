// SPDX-License-Identifier: BSD-3-Clause
// A card of a rank on another node that the segment has no room for: what the Get that fetched it reads,
// once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/store/cards/card.hpp"
#include "core/store/get/lookup.hpp"

namespace weft::server {

struct UnkeptCard {
  std::uint32_t rank = 0;
  std::vector<std::byte> bytes;
  std::vector<store::CardRecord> records;  ///< oldest first; in `bytes`

  explicit UnkeptCard(const store::Card& card);
  UnkeptCard(UnkeptCard&&) = default;
  UnkeptCard& operator=(UnkeptCard&&) = default;
};

/// The newest value that this rank gave to the key, for a caller on another node. Errors: not_found,
/// outside_scope.
Result<store::Encoded> find_in(const std::vector<UnkeptCard>& cards, std::uint32_t rank, std::string_view key,
                               const store::GetDirectives& how);

}  // namespace weft::server
