// SPDX-License-Identifier: BSD-3-Clause
// What two processes of a node share, from their locality strings alone; needs no hwloc.
#pragma once

#include <string_view>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::topology {

/// Compares two strings such as "hwloc:NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-1". The name of the source is
/// optional, the parts may be in any order. A part is two characters for the kind and a list of logical
/// numbers; parts of unknown kinds are skipped. Observed with Open MPI 4.1.4, which parses the string itself:
/// it knows these seven kinds, in any order, and skips others.
///
/// Returns PMIX_LOCALITY_SHARE_NODE and a bit for each kind in which both have a number in common.
/// Errors: invalid (malformed), not_supported (another source). Cost: linear in the length of the strings.
Result<pmix_locality_t> relative_locality(std::string_view first, std::string_view second);

}  // namespace weft::topology
