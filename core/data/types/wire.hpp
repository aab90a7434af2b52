// SPDX-License-Identifier: BSD-3-Clause
// The bytes of values are read and written with the one kit of base/wire.hpp.
#pragma once

#include "base/wire.hpp"

namespace weft::data {

using base::Reader;
using base::Writer;

/// The version of the bytes of everything below core/data (docs/design/wire.md). The opener of a channel or a
/// segment states it there, once.
inline constexpr std::uint8_t wire_version = 1;

}  // namespace weft::data
