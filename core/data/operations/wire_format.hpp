// SPDX-License-Identifier: BSD-3-Clause
// The numbers that encode.cpp and decode.cpp must agree on; docs/design/wire.md explains them.
#pragma once

#include <cstdint>

#include "pmix_common.h"

namespace weft::data {

/// In place of the length of a text, or the count of an argv: it was NULL. So lengths stay below it.
inline constexpr std::uint32_t null_length = 0xffffffff;

/// The receiver owns what it decodes, so `persistent` stays behind, as do the 16 bits that the Standard
/// leaves to each library.
inline constexpr pmix_info_directives_t travelling_flags =
    ~(static_cast<pmix_info_directives_t>(PMIX_INFO_DIR_RESERVED) |
      static_cast<pmix_info_directives_t>(PMIX_INFO_PERSISTENT));

}  // namespace weft::data
