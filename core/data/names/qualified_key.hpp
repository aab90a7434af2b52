// SPDX-License-Identifier: BSD-3-Clause
// Keys with qualifiers: a value that holds for one group, say, beside those for others under the same key.
// Such a value is stored under a name of its own, made of the key and all qualifiers, so that it goes
// wherever other keys go.
#pragma once

#include <string>
#include <string_view>

#include "core/data/types/value.hpp"

namespace weft::data {

/// `key` with the infos that are marked PMIX_INFO_QUALIFIER, whatever their order; `key` itself where none
/// is.
/// Errors: invalid (the name is too long), and those of encode_value().
Result<std::string> qualified_key(std::string_view key, const pmix_info_t* infos, std::size_t count);

/// What PMIx_Put of PMIX_QUALIFIED_VALUE says.
struct QualifiedValue {
  std::string key;            ///< as qualified_key() makes it
  const pmix_value_t* value;  ///< in the array
};
/// value: an array of infos, first the key and its value, then the qualifiers, marked or not. Errors:
/// invalid, and as above.
Result<QualifiedValue> read_qualified(const pmix_value_t& value);

/// A name that qualified_key() made of a key and qualifiers.
inline bool is_qualified(std::string_view key) noexcept {
  return key.find('\n') != std::string_view::npos;
}

}  // namespace weft::data
