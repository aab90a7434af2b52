// SPDX-License-Identifier: BSD-3-Clause
// PMIX_QUERY_ATTRIBUTE_SUPPORT: which attributes calls understand, told from the table that the calls go by
// (core/data/names/call_attributes.hpp). The server is asked which of them its host supports.
#pragma once

#include "core/link/messages.hpp"

namespace weft::abi {

/// True: the keys of `item` begin with PMIX_QUERY_ATTRIBUTE_SUPPORT; names of functions follow it.
bool asks_for_attributes(const link::Query::Item& item) noexcept;

/// True: what the host supports is asked for, too.
bool asks_for_host(const link::Query& query) noexcept;
/// A query for that, to be sent to the server, and what it answers.
link::Query query_of_host();
/// Null: the server said nothing of its host.
const pmix_value_t* said_of_host(const data::Infos& answer) noexcept;

/// An info for each function that has attributes: an array with, for each level that is asked for (none: for
/// all), its PMIX_CLIENT_ATTRIBUTES, _SERVER_, _TOOL_ or _HOST_ATTRIBUTES as an array of pmix_regattr_t,
/// PMIX_UNDEF where it has none. For each PMIX_CLIENT_FUNCTIONS and the like among the qualifiers, the
/// functions that have attributes there, separated by commas.
/// host: as in HostAttributes::query_key; null: nothing is known of it.
/// False: a function that is named has none, or is none. Errors: no_memory.
/// Source: PMIx Standard, section "Accessing attribute support information".
Result<bool> add_attributes(const link::Query::Item& item, const pmix_value_t* host, data::Infos& out);

}  // namespace weft::abi
