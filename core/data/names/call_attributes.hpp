// SPDX-License-Identifier: BSD-3-Clause
// Which attributes each call of the API understands: the table behind PMIX_INFO_REQD,
// PMIX_QUERY_ATTRIBUTE_SUPPORT and the list in docs/API.md. An attribute that a call begins or ceases to obey
// is added or removed here.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "pmix_common.h"

namespace weft::data {

/// The roles in which a call understands its attributes.
enum CallRole : unsigned char { in_client = 1, in_server = 2, in_tool = 4, in_all = 7 };

struct CallAttributes {
  static constexpr std::size_t most = 24;
  char call[40];        ///< of a call and of its form that does not block: "PMIx_Get"
  unsigned char roles;  ///< bits of CallRole
  bool goes_to_host;    ///< what this library does not understand the host may
  char attributes[most][32];

  bool understands(std::string_view attribute) const noexcept;
  std::size_t size() const noexcept;
};

/// By name.
std::span<const CallAttributes> calls_with_attributes() noexcept;
/// Null: a call without attributes, or none of that name. `call` may end with "_nb".
const CallAttributes* attributes_of(std::string_view call) noexcept;

/// Describes an attribute, which is given by its key or its name; borrows from the argument. The type of one
/// that is not the Standard's is PMIX_UNDEF.
/// attribute: at most PMIX_MAX_KEYLEN chars.
pmix_regattr_t description_of(const char* attribute) noexcept;

/// The first of these that the caller marked PMIX_INFO_REQD and that `call` does not understand; null: there
/// is none. A qualifier of a key is part of the key and no directive.
const pmix_info_t* first_not_understood(std::string_view call, const pmix_info_t* infos,
                                        std::size_t count) noexcept;

/// Inline: what every call with directives asks, and nearly none answers with yes.
inline bool has_required(const pmix_info_t* infos, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i)
    if ((infos[i].flags & PMIX_INFO_REQD) != 0) return true;
  return false;
}

}  // namespace weft::data
