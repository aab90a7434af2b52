// SPDX-License-Identifier: BSD-3-Clause
// PMIX_QUERY_ATTRIBUTE_SUPPORT: which attributes calls understand, told from the table that the calls go by
// (core/data/call_attributes.hpp). No server is asked.
#pragma once

#include "core/link/messages.hpp"

namespace weft::abi {

/// True: the keys of `item` begin with PMIX_QUERY_ATTRIBUTE_SUPPORT; names of functions follow it.
bool asks_for_attributes(const link::Query::Item& item) noexcept;

/// An info for each function that has attributes: an array with, for each level that is asked for (none: for all), its
/// PMIX_CLIENT_ATTRIBUTES, _SERVER_, _TOOL_ or _HOST_ATTRIBUTES as an array of pmix_regattr_t, PMIX_UNDEF where it has none. For each
/// PMIX_CLIENT_FUNCTIONS and the like among the qualifiers, the functions that have attributes there, separated by commas.
/// False: a function that is named has none, or is none. Errors: no_memory.
/// Source: PMIx Standard, section "Accessing attribute support information".
Result<bool> add_attributes(const link::Query::Item& item, data::Infos& out);

}  // namespace weft::abi
