// SPDX-License-Identifier: BSD-3-Clause
//
// The PMIx API for host environments: the server's functions and the host's entry points, which it calls
// ("upcalls").
//
// Chapter of the PMIx Standard: Server-Specific Interfaces.
#ifndef PMIX_SERVER_H
#define PMIX_SERVER_H

#include "pmix_common.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- Upcalls ----
 * An upcall answers PMIX_SUCCESS (it will call cbfunc once), PMIX_OPERATION_SUCCEEDED (done, cbfunc will not
 * be called) or an error. An upcall must not block: it runs on the server's thread. Arrays passed in
 * stay valid until cbfunc.
 */

/// A client has connected, or is about to leave; `server_object` is what the host registered it with.
typedef pmix_status_t (*pmix_server_client_connected_fn_t)(const pmix_proc_t* proc, void* server_object,
                                                           pmix_op_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_client_connected2_fn_t)(const pmix_proc_t* proc, void* server_object,
                                                            pmix_info_t* info, size_t ninfo,
                                                            pmix_op_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_client_finalized_fn_t)(const pmix_proc_t* proc, void* server_object,
                                                           pmix_op_cbfunc_t cbfunc, void* cbdata);

/// A client asks to end processes (none given = its whole job).
typedef pmix_status_t (*pmix_server_abort_fn_t)(const pmix_proc_t* proc, void* server_object, int status,
                                                const char* msg, pmix_proc_t* procs, size_t nprocs,
                                                pmix_op_cbfunc_t cbfunc, void* cbdata);

/// All local participants of a fence have arrived. The host owns `data` and frees it; cbfunc gets all nodes'
/// blobs, one after the other in any order.
typedef pmix_status_t (*pmix_server_fencenb_fn_t)(const pmix_proc_t* procs, size_t nprocs,
                                                  const pmix_info_t* info, size_t ninfo, char* data,
                                                  size_t ndata, pmix_modex_cbfunc_t cbfunc, void* cbdata);

/// A client wants the card of a process on another node.
typedef pmix_status_t (*pmix_server_dmodex_req_fn_t)(const pmix_proc_t* proc, const pmix_info_t* info,
                                                     size_t ninfo, pmix_modex_cbfunc_t cbfunc, void* cbdata);

typedef pmix_status_t (*pmix_server_publish_fn_t)(const pmix_proc_t* proc, const pmix_info_t* info,
                                                  size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_lookup_fn_t)(const pmix_proc_t* proc, char** keys,
                                                 const pmix_info_t* info, size_t ninfo,
                                                 pmix_lookup_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_unpublish_fn_t)(const pmix_proc_t* proc, char** keys,
                                                    const pmix_info_t* info, size_t ninfo,
                                                    pmix_op_cbfunc_t cbfunc, void* cbdata);

typedef pmix_status_t (*pmix_server_spawn_fn_t)(const pmix_proc_t* proc, const pmix_info_t* job_info,
                                                size_t ninfo, const pmix_app_t* apps, size_t napps,
                                                pmix_spawn_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_connect_fn_t)(const pmix_proc_t* procs, size_t nprocs,
                                                  const pmix_info_t* info, size_t ninfo,
                                                  pmix_op_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_disconnect_fn_t)(const pmix_proc_t* procs, size_t nprocs,
                                                     const pmix_info_t* info, size_t ninfo,
                                                     pmix_op_cbfunc_t cbfunc, void* cbdata);

/// The events that the host should report; the last of these brings an event for the host to spread.
typedef pmix_status_t (*pmix_server_register_events_fn_t)(pmix_status_t* codes, size_t ncodes,
                                                          const pmix_info_t* info, size_t ninfo,
                                                          pmix_op_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_deregister_events_fn_t)(pmix_status_t* codes, size_t ncodes,
                                                            pmix_op_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_notify_event_fn_t)(pmix_status_t code, const pmix_proc_t* source,
                                                       pmix_data_range_t range, pmix_info_t* info,
                                                       size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);

/// The host may do the listening on a socket.
typedef void (*pmix_connection_cbfunc_t)(int incoming_fd, void* cbdata);
typedef pmix_status_t (*pmix_server_listener_fn_t)(int listening_fd, pmix_connection_cbfunc_t cbfunc,
                                                   void* cbdata);

typedef pmix_status_t (*pmix_server_query_fn_t)(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries,
                                                pmix_info_cbfunc_t cbfunc, void* cbdata);

/// A tool wants to connect; the callback gives it an identity.
typedef void (*pmix_tool_connection_cbfunc_t)(pmix_status_t status, pmix_proc_t* proc, void* cbdata);
typedef void (*pmix_server_tool_connection_fn_t)(pmix_info_t* info, size_t ninfo,
                                                 pmix_tool_connection_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_tool_connection2_fn_t)(pmix_info_t* info, size_t ninfo,
                                                           pmix_tool_connection_cbfunc_t cbfunc,
                                                           void* cbdata);

typedef void (*pmix_server_log_fn_t)(const pmix_proc_t* client, const pmix_info_t* data, size_t ndata,
                                     const pmix_info_t* directives, size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                     void* cbdata);
typedef pmix_status_t (*pmix_server_log2_fn_t)(const pmix_proc_t* client, const pmix_info_t* data,
                                               size_t ndata, const pmix_info_t* directives, size_t ndirs,
                                               pmix_op_cbfunc_t cbfunc, void* cbdata);

typedef pmix_status_t (*pmix_server_alloc_fn_t)(const pmix_proc_t* client, pmix_alloc_directive_t directive,
                                                const pmix_info_t* info, size_t ninfo,
                                                pmix_info_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_job_control_fn_t)(const pmix_proc_t* requestor,
                                                      const pmix_proc_t* targets, size_t ntargets,
                                                      const pmix_info_t* directives, size_t ndirs,
                                                      pmix_info_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_monitor_fn_t)(const pmix_proc_t* requestor, const pmix_info_t* monitor,
                                                  pmix_status_t error, const pmix_info_t* directives,
                                                  size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata);

typedef pmix_status_t (*pmix_server_get_cred_fn_t)(const pmix_proc_t* proc, const pmix_info_t* info,
                                                   size_t ninfo, pmix_credential_cbfunc_t cbfunc,
                                                   void* cbdata);
typedef pmix_status_t (*pmix_server_validate_cred_fn_t)(const pmix_proc_t* proc,
                                                        const pmix_byte_object_t* credential,
                                                        const pmix_info_t* info, size_t ninfo,
                                                        pmix_validation_cbfunc_t cbfunc, void* cbdata);

/// Forward output from processes to here; hand standard input to processes.
typedef pmix_status_t (*pmix_server_iof_fn_t)(const pmix_proc_t* procs, size_t nprocs,
                                              const pmix_info_t* directives, size_t ndirs,
                                              pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc,
                                              void* cbdata);
typedef pmix_status_t (*pmix_server_stdin_fn_t)(const pmix_proc_t* source, const pmix_proc_t* targets,
                                                size_t ntargets, const pmix_info_t* directives, size_t ndirs,
                                                const pmix_byte_object_t* bytes, pmix_op_cbfunc_t cbfunc,
                                                void* cbdata);

typedef pmix_status_t (*pmix_server_grp_fn_t)(pmix_group_operation_t op, char* group,
                                              const pmix_proc_t* procs, size_t nprocs,
                                              const pmix_info_t* directives, size_t ndirs,
                                              pmix_info_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_fabric_fn_t)(const pmix_proc_t* requestor, pmix_fabric_operation_t op,
                                                 const pmix_info_t* directives, size_t ndirs,
                                                 pmix_info_cbfunc_t cbfunc, void* cbdata);

/// After 4.2.2; no slot of the module below, whose layout is 4.2.2's.
typedef pmix_status_t (*pmix_server_session_control_fn_t)(const pmix_proc_t* requestor, uint32_t session_id,
                                                          const pmix_info_t* directives, size_t ndirs,
                                                          pmix_info_cbfunc_t cbfunc, void* cbdata);
typedef pmix_status_t (*pmix_server_resource_block_fn_t)(const pmix_proc_t* requestor,
                                                         pmix_resource_block_directive_t directive,
                                                         const char* block, const pmix_resource_unit_t* units,
                                                         size_t nunits, const pmix_info_t* info, size_t ninfo,
                                                         pmix_op_cbfunc_t cbfunc, void* cbdata);

/// The host's entry points; NULL = not offered. Programs built with newer headers pass a longer structure:
/// the library reads no further than this.
typedef struct pmix_server_module_4_0_0_t {
  pmix_server_client_connected_fn_t client_connected;
  pmix_server_client_finalized_fn_t client_finalized;
  pmix_server_abort_fn_t abort;
  pmix_server_fencenb_fn_t fence_nb;
  pmix_server_dmodex_req_fn_t direct_modex;
  pmix_server_publish_fn_t publish;
  pmix_server_lookup_fn_t lookup;
  pmix_server_unpublish_fn_t unpublish;
  pmix_server_spawn_fn_t spawn;
  pmix_server_connect_fn_t connect;
  pmix_server_disconnect_fn_t disconnect;
  pmix_server_register_events_fn_t register_events;
  pmix_server_deregister_events_fn_t deregister_events;
  pmix_server_listener_fn_t listener;
  pmix_server_notify_event_fn_t notify_event;
  pmix_server_query_fn_t query;
  pmix_server_tool_connection_fn_t tool_connected;
  pmix_server_log_fn_t log;
  pmix_server_alloc_fn_t allocate;
  pmix_server_job_control_fn_t job_control;
  pmix_server_monitor_fn_t monitor;
  pmix_server_get_cred_fn_t get_credential;
  pmix_server_validate_cred_fn_t validate_credential;
  pmix_server_iof_fn_t iof_pull;
  pmix_server_stdin_fn_t push_stdin;
  pmix_server_grp_fn_t group;
  pmix_server_fabric_fn_t fabric;
  pmix_server_client_connected2_fn_t client_connected2;
} pmix_server_module_t;

/* ---- Starting and stopping ---- */

/// The module is copied. Errors: PMIX_ERR_BAD_PARAM, PMIX_ERR_NOMEM, ...
PMIX_EXPORT pmix_status_t PMIx_server_init(pmix_server_module_t* module, pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_server_finalize(void);

/* ---- Jobs and clients ---- */

/// Job information for the clients of a namespace, `nlocalprocs` of which will run on this node.
PMIX_EXPORT pmix_status_t PMIx_server_register_nspace(const char* nspace, int nlocalprocs, pmix_info_t* info,
                                                      size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT void PMIx_server_deregister_nspace(const char* nspace, pmix_op_cbfunc_t cbfunc, void* cbdata);

/// A client that will connect, under this user and group.
PMIX_EXPORT pmix_status_t PMIx_server_register_client(const pmix_proc_t* proc, uid_t uid, gid_t gid,
                                                      void* server_object, pmix_op_cbfunc_t cbfunc,
                                                      void* cbdata);
PMIX_EXPORT void PMIx_server_deregister_client(const pmix_proc_t* proc, pmix_op_cbfunc_t cbfunc,
                                               void* cbdata);

/// Adds to `*env` what the client needs to find the server.
PMIX_EXPORT pmix_status_t PMIx_server_setup_fork(const pmix_proc_t* proc, char*** env);

/// The card of a local client, for another node's server.
typedef void (*pmix_dmodex_response_fn_t)(pmix_status_t status, char* data, size_t ndata, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t* proc,
                                                     pmix_dmodex_response_fn_t cbfunc, void* cbdata);

/// Information for the nodes before a launch, and its use on each of them.
typedef void (*pmix_setup_application_cbfunc_t)(pmix_status_t status, pmix_info_t* info, size_t ninfo,
                                                void* provided_cbdata, pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_server_setup_application(const char* nspace, pmix_info_t* info, size_t ninfo,
                                                        pmix_setup_application_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_server_setup_local_support(const char* nspace, pmix_info_t* info, size_t ninfo,
                                                          pmix_op_cbfunc_t cbfunc, void* cbdata);

/// The job-level information of namespaces, packed.
PMIX_EXPORT pmix_status_t PMIx_server_collect_job_info(pmix_proc_t* procs, size_t nprocs,
                                                       pmix_data_buffer_t* buffer);

/* ---- Compressed lists, locality ---- */

/// Compress "node1,node2" and "0,1;2,3" into strings without NUL bytes inside.
PMIX_EXPORT pmix_status_t PMIx_generate_regex(const char* nodes, char** regex);
PMIX_EXPORT pmix_status_t PMIx_generate_ppn(const char* ranks, char** ppn);

/// The forms that carry bytes and length. After 4.2.2.
PMIX_EXPORT pmix_status_t PMIx_generate_regex2(const char* text, pmix_info_t* info, size_t ninfo,
                                               pmix_regex2_t* regex);
PMIX_EXPORT pmix_status_t PMIx_parse_regex2(const pmix_regex2_t* regex, pmix_info_t* info, size_t ninfo,
                                            char** text);

/// Strings for PMIX_LOCALITY_STRING and PMIX_CPUSET, and the way back.
PMIX_EXPORT pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t* cpuset, char** locality);
PMIX_EXPORT pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t* cpuset, char** text);
PMIX_EXPORT pmix_status_t PMIx_server_generate_cpuset(const char* text, pmix_cpuset_t* cpuset);

/* ---- Process sets, resources, inventory ---- */

PMIX_EXPORT pmix_status_t PMIx_server_define_process_set(const pmix_proc_t* members, size_t nmembers,
                                                         const char* pset);
PMIX_EXPORT pmix_status_t PMIx_server_delete_process_set(char* pset);

PMIX_EXPORT pmix_status_t PMIx_server_register_resources(pmix_info_t* info, size_t ninfo,
                                                         pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_server_deregister_resources(pmix_info_t* info, size_t ninfo,
                                                           pmix_op_cbfunc_t cbfunc, void* cbdata);

PMIX_EXPORT pmix_status_t PMIx_server_collect_inventory(pmix_info_t* directives, size_t ndirs,
                                                        pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_server_deliver_inventory(pmix_info_t* info, size_t ninfo,
                                                        pmix_info_t* directives, size_t ndirs,
                                                        pmix_op_cbfunc_t cbfunc, void* cbdata);

/* ---- Output, attributes ---- */

/// Output of a process, for the tools and clients that pull it.
PMIX_EXPORT pmix_status_t PMIx_server_IOF_deliver(const pmix_proc_t* source, pmix_iof_channel_t channel,
                                                  const pmix_byte_object_t* bytes, const pmix_info_t* info,
                                                  size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);
/// Asks a source of output to pause, or to go on.
PMIX_EXPORT pmix_status_t PMIx_server_IOF_flow_control(const pmix_proc_t* source, pmix_iof_channel_t channel,
                                                       bool stop, const pmix_info_t* info, size_t ninfo,
                                                       pmix_op_cbfunc_t cbfunc, void* cbdata);

/// Tells which attributes the host supports for a function.
PMIX_EXPORT pmix_status_t PMIx_Register_attributes(char* function, char** attrs);

#if defined(__cplusplus)
}
#endif

#endif
