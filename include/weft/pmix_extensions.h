// SPDX-License-Identifier: BSD-3-Clause
// Chapter of the PMIx Standard that these would belong to: Server-Specific Interfaces.
// The names of things that RFCs describe and the Standard has no name for. A program that includes this file
// runs on Weft only.
#ifndef WEFT_PMIX_EXTENSIONS_H
#define WEFT_PMIX_EXTENSIONS_H

#include <pmix_server.h>

#ifdef __cplusplus
extern "C" {
#endif

/// PMIx_Forward_envars: patterns of names that are left out (string).
#define WEFT_FORWARD_EXCLUDE "weft.fwd.excl"

// Groups, as the draft of RFC 0033 has them beside what the Standard took over.

/// PMIx_Group_construct, _invite (bool): members hear PMIX_PROC_HAS_JOINED of each process that joins.
#define PMIX_GROUP_NOTIFY_EACH "weft.grp.each"
/// PMIx_Group_construct (bool): the processes that it names hear PMIX_GROUP_REQUESTED.
#define PMIX_GROUP_NOTIFY_REQ "weft.grp.req"
/// PMIx_Group_construct, _invite (bool): before a member leaves, the others are asked with
/// PMIX_GROUP_LEAVE_REQUEST.
#define PMIX_GROUP_NOTIFY_DEPARTURE "weft.grp.depart"
/// Calls that name a group (bool): the namespace is a group's name. Weft knows that without it.
#define PMIX_GROUP_OPERATION "weft.grp.op"

/// A process has joined the group, or has called its construct: PMIX_GROUP_ID, PMIX_EVENT_AFFECTED_PROC.
#define PMIX_PROC_HAS_JOINED (-2991)
/// Another process has named this one in a construct: PMIX_GROUP_ID, PMIX_GROUP_MEMBERSHIP.
#define PMIX_GROUP_REQUESTED (-2992)
/// A process asks to join a group of this one. A handler that completes with an error refuses it.
#define PMIX_GROUP_JOIN_REQUEST (-2993)
/// A member asks to leave. A handler that completes with an error refuses it.
#define PMIX_GROUP_LEAVE_REQUEST (-2994)

// Names of several runs (docs/design/published.md).

/// PMIx_tool_attach_to_server, of a server (bool): the names of PMIX_RANGE_SESSION and PMIX_RANGE_GLOBAL that
/// processes of its cluster publish and look up are those of that other server's from here on.
#define WEFT_NAMES_OF "weft.names_of"
/// To the handlers of such a server alone: the other one, PMIX_EVENT_AFFECTED_PROC, has gone, and the names
/// with it.
#define WEFT_NAMES_LOST (-2995)

/// Variables of this process that travel with a job. pattern: names with semicolons between; `?` any one
/// character, `*` the rest.
PMIX_EXPORT pmix_status_t PMIx_Forward_envars(const char nspace[], const char* pattern,
                                              pmix_info_t directives[], size_t ndirs);

#ifdef __cplusplus
}
#endif

#endif
