// SPDX-License-Identifier: BSD-3-Clause
// Names of constants and attributes. All texts are static; no function here allocates.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "pmix_common.h"

namespace weft::data {

/// "PMIX_ERR_NOT_FOUND"; nullptr if no status has that number.
const char* status_name(pmix_status_t status) noexcept;

/// Also names that are deprecated. Case does not matter, nor do '-' or ' ' in place of '_', nor a missing
/// "PMIX_" or "PMIX_ERR_": what a library of 4.2.2 prints ("NOT-FOUND") is understood.
std::optional<pmix_status_t> status_of(std::string_view name) noexcept;

/// "PMIX_JOB_SIZE" -> "pmix.job.size" and back; nullptr if there is no such attribute.
const char* attribute_key(std::string_view name) noexcept;
const char* attribute_name(std::string_view key) noexcept;
/// PMIX_UNDEF: no such attribute, or its values have several types.
pmix_data_type_t attribute_type(std::string_view key) noexcept;

/// The constant that a number of an enumerating type (PMIX_SCOPE, PMIX_PROC_STATE, PMIX_DATA_TYPE,
/// PMIX_STATUS, ...) stands for: "PMIX_GLOBAL". nullptr for other types and numbers.
const char* constant_name(pmix_data_type_t type, std::uint64_t number) noexcept;

}  // namespace weft::data
