// SPDX-License-Identifier: BSD-3-Clause
// Data as text for people: one line each, the same for logs, PMIx_Data_print and the *_string functions.
#pragma once

#include <string>

#include "pmix_common.h"

namespace weft::data {

/// Appends one element: numbers as such and with their constant's name where there is one, texts in quotes,
/// records as {field: ...}, bytes in hex (the first 32). "(null)" for element == NULL.
void print_element(std::string& out, pmix_data_type_t type, const void* element);

/// "PMIX_UINT32: 7"
std::string print_value(const pmix_value_t& value);
/// "pmix.job.size: PMIX_UINT32: 7 [REQUIRED]"
std::string print_info(const pmix_info_t& info);
/// "nspace:7", "nspace:*" for the wildcard, "nspace:PMIX_RANK_UNDEF" and so on for the others.
std::string print_proc(const pmix_proc_t& proc);
/// "REQUIRED:PROCESSED"; "OPTIONAL" where nothing makes it required or a qualifier.
std::string print_directives(pmix_info_directives_t flags);

}  // namespace weft::data
