// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/boards/group_ledger.hpp"

#include <xxhash.h>

namespace weft::store {

std::uint64_t tag_of(GroupAct act, std::string_view name, bool adjusts) noexcept {
  const auto seed = static_cast<XXH64_hash_t>(act) | (adjusts ? 0x100 : 0);
  return XXH3_64bits_withSeed(name.data(), name.size(), seed) | 1;
}

}  // namespace weft::store
