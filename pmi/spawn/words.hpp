// SPDX-License-Identifier: BSD-3-Clause
// What the two wire forms of an order share: numbers, and pairs of which the key comes before the value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "pmi/spawn/spawn_order.hpp"

namespace weft::pmi {

/// Of digits only, and as large as a C int.
std::optional<std::uint32_t> count_of(std::string_view text);

/// A key that comes a second time, as in each block of one order, has the later value. False: it is no key,
/// or there are too many.
bool begin_pair(std::vector<KeyValue>& pairs, std::string_view key);
/// The value of the key before it. False: there is none, or the value is too long.
bool end_pair(std::vector<KeyValue>& pairs, std::string_view value, std::size_t room);

inline bool begins(std::string_view name, std::string_view with) noexcept {
  return name.substr(0, with.size()) == with;
}

}  // namespace weft::pmi
