// SPDX-License-Identifier: BSD-3-Clause
// Whether a caller has set a directive. Pure functions.
#pragma once

#include <algorithm>
#include <string_view>

#include "core/data/types/value.hpp"

namespace weft::data {

/// The first of that key is true (is_true()); where there is none it is not set.
inline bool is_set(const pmix_info_t* infos, std::size_t count, std::string_view key) noexcept {
  const auto* const end = infos + count;
  const auto* const found =
      std::find_if(infos, end, [&](const pmix_info_t& info) { return key_of(info) == key; });
  return found != end && is_true(found->value);
}
inline bool is_set(const Infos& infos, std::string_view key) noexcept {
  return is_set(infos.data(), infos.size(), key);
}

}  // namespace weft::data
