// SPDX-License-Identifier: BSD-3-Clause
// Questions to this process's own PMIx server about a job (docs/design/report.md).
#pragma once

#include <pmix_common.h>

#include <functional>
#include <span>
#include <string>

namespace weft::node {

/// answered: once, on a thread of the library or inside this call, with the value of the key; null: the
/// server does not know the job. key: a literal.
void ask_server(const char* key, const std::string& nspace,
                std::function<void(const pmix_value_t* value)> answered);

/// The infos of an array; none: the value is no such array.
std::span<const pmix_info_t> infos_in(const pmix_value_t& value);

}  // namespace weft::node
