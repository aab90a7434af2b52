// SPDX-License-Identifier: BSD-3-Clause
// What two processes of a node share, from their locality strings alone: no hwloc needed.
#pragma once

#include <string_view>

#include "pmix_common.h"
#include "weft/result.hpp"

namespace weft::topology {

/// "hwloc:NM0:SK0:L30:L20-1:L10-1:CR0-1:HT0-1", the name of the source optional, the parts in any order. A
/// part is two characters for the kind and a list of logical numbers; parts of an unknown kind are skipped.
/// Observed with Open MPI 4.1.4, which reads the string itself: it knows these seven kinds, in any order, and
/// skips others.
///
/// Returns PMIX_LOCALITY_SHARE_NODE and a bit for each kind in which the two have a number in common.
/// Errors: invalid (malformed), not_supported (another source). Cost: linear in the strings.
Result<pmix_locality_t> relative_locality(std::string_view first, std::string_view second);

}  // namespace weft::topology
