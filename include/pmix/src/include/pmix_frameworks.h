// SPDX-License-Identifier: BSD-3-Clause
//
// Not of the PMIx Standard. Open MPI 5 and later include this header by the path
// src/include/pmix_frameworks.h, for the one name below; pmix.pc names the folder include/pmix for it.
#ifndef PMIX_FRAMEWORKS_H
#define PMIX_FRAMEWORKS_H

#include "pmix_common.h"

#if defined(__cplusplus)
extern "C" {
#endif

/// Names of the plug-in frameworks of the library, ended by NULL: none, this library has no plug-ins. Every
/// libpmix since 4.2.4 has it; Open MPI looks here which run-time parameters it should pass on to PMIx, and
/// passes on none.
PMIX_EXPORT extern const char* const pmix_framework_names[];

#if defined(__cplusplus)
}
#endif

#endif
