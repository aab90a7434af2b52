// SPDX-License-Identifier: BSD-3-Clause
// What can be done with elements of any type, driven by the table in types.cpp. `count` elements of the
// type lie side by side, as in an array of C; what they own comes from malloc.
#pragma once

#include <cstddef>

#include "core/data/types/wire.hpp"
#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::data {

/// Values in values, arrays in arrays: how many levels are encoded, and followed in bytes from a peer.
inline constexpr unsigned max_depth = 16;

/// Deep copies. `out` holds memory of the right size and arbitrary content; it stays untouched on error.
/// Errors: not_supported (unknown type, a handle without OpaqueOps), no_memory.
Result<void> copy_elements(pmix_data_type_t type, void* out, const void* in, std::size_t count);

/// Frees what the elements own and zeroes them; harmless on zeroed memory and for unknown types.
void destroy_elements(pmix_data_type_t type, void* first, std::size_t count) noexcept;

/// The elements one after the other, without type and count. On error `out` is as before.
/// Errors: not_supported, invalid (deeper than max_depth, 4 GiB or more in one text or object), no_memory.
Result<void> encode_elements(Writer& out, pmix_data_type_t type, const void* first, std::size_t count);

/// The bounded inverse; `out` as in copy_elements. Errors: corrupt, not_supported, no_memory.
Result<void> decode_elements(Reader& in, pmix_data_type_t type, void* out, std::size_t count);

/// Numbers by value, texts by strcmp order, objects by size and then bytes, records by their first differing
/// field. PMIX_VALUE_INCOMPATIBLE_OBJECTS: arrays of different types.
/// PMIX_VALUE_COMPARISON_NOT_AVAIL: an unknown type, a NaN, handles that differ.
pmix_value_cmp_t compare_elements(pmix_data_type_t type, const void* first, const void* second) noexcept;

/// Bytes of data in one element: of a number its size, of a text its characters and the NUL, of a record
/// the structure and everything it owns. Zero for unknown types.
std::size_t element_bytes(pmix_data_type_t type, const void* element) noexcept;

}  // namespace weft::data
