// SPDX-License-Identifier: BSD-3-Clause
//
// The PMIx release whose programming interface these headers offer. Weft's own version is another number:
// ask `weftrun --version`. Why 4.2.2, and what it makes programs expect:
// docs/decisions/0001-header-version.md.
#ifndef PMIx_VERSION_H
#define PMIx_VERSION_H

#define PMIX_VERSION_MAJOR   4L
#define PMIX_VERSION_MINOR   2L
#define PMIX_VERSION_RELEASE 2L

// 0x00MMmmrr, so that the preprocessor can compare releases.
#define PMIX_NUMERIC_VERSION 0x00040202L

#endif
