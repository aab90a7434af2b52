// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "pmix_common.h"

namespace weft::abi {

/// PMIX_EXTERNAL_PROGRESS: the caller makes the library's progress, by PMIx_Progress.
bool says_external_progress(const pmix_info_t* infos, std::size_t ninfo) noexcept;

}  // namespace weft::abi
