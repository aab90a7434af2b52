// SPDX-License-Identifier: BSD-3-Clause
#include "pmix_common.h"

/// Names of the plug-in frameworks of the library, ended by NULL: none, this library has no plug-ins.
/// Not in the PMIx Standard. Open MPI 5 and later imports it (every libpmix since 4.2.4 has it) to learn
/// which run-time parameters it should pass on to PMIx; with an empty list it passes on none.
extern "C" {
PMIX_EXPORT extern const char* const pmix_framework_names[];
const char* const pmix_framework_names[] = {nullptr};
}
