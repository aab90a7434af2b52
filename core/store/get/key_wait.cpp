// SPDX-License-Identifier: BSD-3-Clause
#include "core/store/get/key_wait.hpp"

#include <algorithm>

namespace weft::store {

std::uint32_t KeyWait::pack(std::chrono::milliseconds wait) noexcept {
  const auto ms = std::max<std::int64_t>(wait.count(), 0);
  return wait == forever ? packed_forever
                         : static_cast<std::uint32_t>(std::min<std::int64_t>(ms, packed_forever - 1));
}

std::chrono::milliseconds KeyWait::unpack(std::uint32_t wait) noexcept {
  return wait == packed_forever ? forever : std::chrono::milliseconds(wait);
}

}  // namespace weft::store
