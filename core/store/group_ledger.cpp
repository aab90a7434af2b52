// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/group_ledger.hpp"

#include <xxhash.h>

namespace weft::store {

std::uint64_t tag_of(GroupAct act, std::string_view name) noexcept {
  return XXH3_64bits_withSeed(name.data(), name.size(), static_cast<XXH64_hash_t>(act)) | 1;
}

}  // namespace weft::store
