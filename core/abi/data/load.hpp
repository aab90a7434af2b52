// SPDX-License-Identifier: BSD-3-Clause
// Loading a value from what a C caller passes: shared by values, infos, info lists and published data.
#pragma once

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::abi {

/// See PMIx_Value_load. Error type_mismatch: Weft does not know that type.
Result<void> load_value(pmix_value_t& out, const void* data, pmix_data_type_t type);

/// PMIX_ERR_UNKNOWN_DATA_TYPE for a type_mismatch, else as to_status().
pmix_status_t load_status(const Result<void>& done) noexcept;

}  // namespace weft::abi
