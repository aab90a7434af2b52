// SPDX-License-Identifier: BSD-3-Clause
// What PMIx_Data_compress makes: one zstd frame that says its length.
#pragma once

#include <cstddef>

#include "weft/bytes.hpp"
#include "weft/result.hpp"

namespace weft::data {

/// Bytes from malloc.
struct Packed {
  std::byte* bytes;
  std::size_t size;
};
inline constexpr std::size_t most_expanded = std::size_t{1} << 30;

/// Errors: invalid (nothing, more than most_expanded, or no smaller than `bytes`), no_memory.
Result<Packed> compress(Bytes bytes);
/// Errors: corrupt (no such frame, or one that claims more than most_expanded), no_memory.
Result<Packed> expand(Bytes frame);

}  // namespace weft::data
