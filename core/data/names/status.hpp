// SPDX-License-Identifier: BSD-3-Clause
// What an Error is called in the C API: the one place where it is decided, for clients, servers and the entry
// points.
#pragma once

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::data {

/// A function whose contract names another status for one of its errors says so where it returns it.
pmix_status_t to_status(const Error& error) noexcept;

}  // namespace weft::data
