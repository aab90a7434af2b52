// SPDX-License-Identifier: BSD-3-Clause
// The setting WEFT_GET_WAIT, and the directive that carries a process's own to its server.
#pragma once

#include <chrono>
#include <cstdint>

namespace weft::store {

/// How long a Get without PMIX_TIMEOUT waits for a key that its rank has not committed although it has
/// committed others.
struct KeyWait {
  static constexpr std::chrono::milliseconds forever = std::chrono::milliseconds::max();
  static constexpr std::uint32_t packed_forever = ~std::uint32_t{0};
  /// Directive of PMIx_Get, uint32, as pack() makes it. Goes before what the server was told.
  static constexpr const char* attribute = "weft.get.wait";

  /// Milliseconds; the largest number stands for `forever`.
  static std::uint32_t pack(std::chrono::milliseconds wait) noexcept;
  static std::chrono::milliseconds unpack(std::uint32_t wait) noexcept;
};

}  // namespace weft::store
