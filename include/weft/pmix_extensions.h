// SPDX-License-Identifier: BSD-3-Clause
// Chapter of the PMIx Standard that these would belong to: Server-Specific Interfaces.
// What RFCs describe and the Standard has no name for. A program that includes this file runs on Weft only.
#ifndef WEFT_PMIX_EXTENSIONS_H
#define WEFT_PMIX_EXTENSIONS_H

#include <pmix_server.h>

#ifdef __cplusplus
extern "C" {
#endif

/// PMIx_Forward_envars: patterns of names that are left out (string).
#define WEFT_FORWARD_EXCLUDE "weft.fwd.excl"

/// Variables of this process that travel with a job. pattern: names with semicolons between; `?` any one character, `*` the rest.
PMIX_EXPORT pmix_status_t PMIx_Forward_envars(const char nspace[], const char* pattern, pmix_info_t directives[], size_t ndirs);

#ifdef __cplusplus
}
#endif

#endif
