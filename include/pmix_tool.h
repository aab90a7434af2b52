// SPDX-License-Identifier: BSD-3-Clause
//
// The PMIx API for tools: debuggers, launchers, monitors.
//
// Chapter of the PMIx Standard: Tools and Debuggers.
#ifndef PMIX_TOOL_H
#define PMIX_TOOL_H

#include "pmix.h"
#include "pmix_server.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- Starting and stopping ---- */

/// Connects to a server unless told not to; fills `proc` with the tool's identity.
PMIX_EXPORT pmix_status_t PMIx_tool_init(pmix_proc_t* proc, pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_tool_finalize(void);

/* ---- Servers ---- */

/// A tool may be connected to several servers; one of them, the primary, gets its requests.
PMIX_EXPORT bool PMIx_tool_is_connected(void);
PMIX_EXPORT pmix_status_t PMIx_tool_attach_to_server(pmix_proc_t* proc, pmix_proc_t* server,
                                                     pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_tool_disconnect(const pmix_proc_t* server);
PMIX_EXPORT pmix_status_t PMIx_tool_get_servers(pmix_proc_t** servers, size_t* nservers);
PMIX_EXPORT pmix_status_t PMIx_tool_set_server(const pmix_proc_t* server, pmix_info_t* info, size_t ninfo);

/// Entry points of a tool that serves its own children.
PMIX_EXPORT pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t* module);

/* ---- Input and output of processes ---- */

/// Output arrives here.
typedef void (*pmix_iof_cbfunc_t)(size_t handler_id, pmix_iof_channel_t channel, pmix_proc_t* source,
                                  pmix_byte_object_t* payload, pmix_info_t* info, size_t ninfo);

/// Ask for output of processes, end that, send to their standard input.
PMIX_EXPORT pmix_status_t PMIx_IOF_pull(const pmix_proc_t* procs, size_t nprocs,
                                        const pmix_info_t* directives, size_t ndirs,
                                        pmix_iof_channel_t channel, pmix_iof_cbfunc_t cbfunc,
                                        pmix_hdlr_reg_cbfunc_t regcbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_IOF_deregister(size_t handler_id, const pmix_info_t* directives, size_t ndirs,
                                              pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_IOF_push(const pmix_proc_t* targets, size_t ntargets,
                                        pmix_byte_object_t* bytes, const pmix_info_t* directives,
                                        size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata);

#if defined(__cplusplus)
}
#endif

#endif
