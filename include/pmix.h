// SPDX-License-Identifier: BSD-3-Clause
//
// The PMIx API for client processes. Servers add pmix_server.h, tools pmix_tool.h.
//
// Functions return PMIX_SUCCESS or a negative status; an _nb form returns at once and calls back exactly
// once, unless it returns PMIX_OPERATION_SUCCEEDED (done, no callback) or an error. Arrays come with their
// number of elements; NULL and 0 mean none. Results are the caller's and freed with the macro or function of
// their type. docs/API.md says which functions this release of the library does not implement yet. The
// headings below are the chapters of the PMIx Standard.
#ifndef PMIX_H
#define PMIX_H

#include "pmix_common.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- Client Initialization and Finalization ---- */

/// Connects to the local server and fills `proc` with the caller's identity. Calls are counted. Without a
/// server in the environment: PMIX_ERR_UNREACH and a library that works for this one process.
PMIX_EXPORT pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t* info, size_t ninfo);

/// Undoes one PMIx_Init; the last one waits for the node's other processes unless PMIX_EMBED_BARRIER says no.
PMIX_EXPORT pmix_status_t PMIx_Finalize(const pmix_info_t* info, size_t ninfo);

/// Non-zero between the first PMIx_Init and the last PMIx_Finalize.
PMIX_EXPORT int PMIx_Initialized(void);

/// A static string: the name and version of the library.
PMIX_EXPORT const char* PMIx_Get_version(void);

/// Asks the host to end the given processes, by default the caller's whole job, with that exit status.
PMIX_EXPORT pmix_status_t PMIx_Abort(int status, const char* msg, pmix_proc_t* procs, size_t nprocs);

/// Runs pending work, for callers that gave PMIX_EXTERNAL_PROGRESS; ends the library's own progress thread.
PMIX_EXPORT void PMIx_Progress(void);
PMIX_EXPORT void PMIx_Progress_thread_stop(const pmix_info_t* info, size_t ninfo);

/* ---- Data Access and Sharing ---- */

/// Adds a key to the caller's card; others see it after PMIx_Commit, within the scope.
PMIX_EXPORT pmix_status_t PMIx_Put(pmix_scope_t scope, const char* key, pmix_value_t* val);

/// Keeps a value about `proc` in this process only.
PMIX_EXPORT pmix_status_t PMIx_Store_internal(const pmix_proc_t* proc, const char* key, pmix_value_t* val);

/// Makes everything put so far visible.
PMIX_EXPORT pmix_status_t PMIx_Commit(void);

/// Looks up a key of `proc`: NULL or its wildcard rank for job-level information. The caller frees the value.
PMIX_EXPORT pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char* key, const pmix_info_t* info,
                                   size_t ninfo, pmix_value_t** val);
PMIX_EXPORT pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const char* key, const pmix_info_t* info,
                                      size_t ninfo, pmix_value_cbfunc_t cbfunc, void* cbdata);

/* ---- Synchronization ---- */

/// Returns when all participants have entered; NULL, 0 = my job. With PMIX_COLLECT_DATA their cards travel.
PMIX_EXPORT pmix_status_t PMIx_Fence(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                     size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Fence_nb(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                        size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);

/* ---- Publish/Lookup Operations ---- */

/// Publish keys by name within a range; find them, with PMIX_WAIT also those yet to come; withdraw them.
PMIX_EXPORT pmix_status_t PMIx_Publish(const pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Publish_nb(const pmix_info_t* info, size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                          void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Lookup(pmix_pdata_t* data, size_t ndata, const pmix_info_t* info,
                                      size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Lookup_nb(char** keys, const pmix_info_t* info, size_t ninfo,
                                         pmix_lookup_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Unpublish(char** keys, const pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Unpublish_nb(char** keys, const pmix_info_t* info, size_t ninfo,
                                            pmix_op_cbfunc_t cbfunc, void* cbdata);

/* ---- Process Management ---- */

/// Starts a new job of one or more applications. `nspace` holds PMIX_MAX_NSLEN + 1 characters.
PMIX_EXPORT pmix_status_t PMIx_Spawn(const pmix_info_t* job_info, size_t ninfo, const pmix_app_t* apps,
                                     size_t napps, char* nspace);
PMIX_EXPORT pmix_status_t PMIx_Spawn_nb(const pmix_info_t* job_info, size_t ninfo, const pmix_app_t* apps,
                                        size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata);

/// Let processes treat each other as one set for data and failure, and end that.
PMIX_EXPORT pmix_status_t PMIx_Connect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                       size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Connect_nb(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                          size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Disconnect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                          size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Disconnect_nb(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* info,
                                             size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata);

/// The node's topology, to be released with PMIx_Topology_destruct.
PMIX_EXPORT pmix_status_t PMIx_Load_topology(pmix_topology_t* topo);

/// Binding of the caller or its thread; a cpuset from text; what two locality strings share.
PMIX_EXPORT pmix_status_t PMIx_Get_cpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t envelope);
PMIX_EXPORT pmix_status_t PMIx_Parse_cpuset_string(const char* text, pmix_cpuset_t* cpuset);
PMIX_EXPORT pmix_status_t PMIx_Get_relative_locality(const char* locality1, const char* locality2,
                                                     pmix_locality_t* locality);

/// Distances from a cpuset to the node's devices.
PMIX_EXPORT pmix_status_t PMIx_Compute_distances(pmix_topology_t* topo, pmix_cpuset_t* cpuset,
                                                 pmix_info_t* info, size_t ninfo,
                                                 pmix_device_distance_t** distances, size_t* ndistances);
PMIX_EXPORT pmix_status_t PMIx_Compute_distances_nb(pmix_topology_t* topo, pmix_cpuset_t* cpuset,
                                                    pmix_info_t* info, size_t ninfo,
                                                    pmix_device_dist_cbfunc_t cbfunc, void* cbdata);

/* ---- Process Sets and Groups ---- */

/// Collective construction and destruction; an invitation that processes join; leaving alone.
PMIX_EXPORT pmix_status_t PMIx_Group_construct(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                               const pmix_info_t* directives, size_t ndirs,
                                               pmix_info_t** results, size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Group_construct_nb(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                                  const pmix_info_t* directives, size_t ndirs,
                                                  pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Group_invite(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                            const pmix_info_t* info, size_t ninfo, pmix_info_t** results,
                                            size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Group_invite_nb(const char* group, const pmix_proc_t* procs, size_t nprocs,
                                               const pmix_info_t* info, size_t ninfo,
                                               pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Group_join(const char* group, const pmix_proc_t* leader, pmix_group_opt_t opt,
                                          const pmix_info_t* info, size_t ninfo, pmix_info_t** results,
                                          size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Group_join_nb(const char* group, const pmix_proc_t* leader,
                                             pmix_group_opt_t opt, const pmix_info_t* info, size_t ninfo,
                                             pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Group_leave(const char* group, const pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Group_leave_nb(const char* group, const pmix_info_t* info, size_t ninfo,
                                              pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Group_destruct(const char* group, const pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Group_destruct_nb(const char* group, const pmix_info_t* info, size_t ninfo,
                                                 pmix_op_cbfunc_t cbfunc, void* cbdata);

/* ---- Event Notification ---- */

/// Registers a handler for the given codes (NULL = default handler). With a callback the identifier arrives
/// there; without one the call blocks and returns the identifier, or a negative status.
PMIX_EXPORT pmix_status_t PMIx_Register_event_handler(pmix_status_t* codes, size_t ncodes, pmix_info_t* info,
                                                      size_t ninfo, pmix_notification_fn_t handler,
                                                      pmix_hdlr_reg_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Deregister_event_handler(size_t handler_id, pmix_op_cbfunc_t cbfunc,
                                                        void* cbdata);

/// Tells an event to the processes within the range.
PMIX_EXPORT pmix_status_t PMIx_Notify_event(pmix_status_t status, const pmix_proc_t* source,
                                            pmix_data_range_t range, const pmix_info_t* info, size_t ninfo,
                                            pmix_op_cbfunc_t cbfunc, void* cbdata);

/* ---- Query Operations ---- */

/// The processes of a namespace (NULL or "" = all) on a node (NULL = this one).
/// The nodes of a namespace, as "a,b,c".
PMIX_EXPORT pmix_status_t PMIx_Resolve_peers(const char* nodename, const char* nspace, pmix_proc_t** procs,
                                             size_t* nprocs);
PMIX_EXPORT pmix_status_t PMIx_Resolve_nodes(const char* nspace, char** nodelist);

/// Asks the library or the host for information (keys PMIX_QUERY_...).
PMIX_EXPORT pmix_status_t PMIx_Query_info(pmix_query_t* queries, size_t nqueries, pmix_info_t** results,
                                          size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Query_info_nb(pmix_query_t* queries, size_t nqueries,
                                             pmix_info_cbfunc_t cbfunc, void* cbdata);

/* ---- Job Management and Reporting ---- */

/// Hands text to a log channel: stdout, stderr, syslog, ...
PMIX_EXPORT pmix_status_t PMIx_Log(const pmix_info_t* data, size_t ndata, const pmix_info_t* directives,
                                   size_t ndirs);
PMIX_EXPORT pmix_status_t PMIx_Log_nb(const pmix_info_t* data, size_t ndata, const pmix_info_t* directives,
                                      size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata);

/// Requests, extends or releases resources; controls a session; defines blocks of resources.
PMIX_EXPORT pmix_status_t PMIx_Allocation_request(pmix_alloc_directive_t directive, pmix_info_t* info,
                                                  size_t ninfo, pmix_info_t** results, size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Allocation_request_nb(pmix_alloc_directive_t directive, pmix_info_t* info,
                                                     size_t ninfo, pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Session_control(uint32_t session_id, const pmix_info_t* directives,
                                               size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Resource_block(pmix_resource_block_directive_t directive, char* block,
                                              const pmix_resource_unit_t* units, size_t nunits,
                                              const pmix_info_t* info, size_t ninfo);
PMIX_EXPORT pmix_status_t PMIx_Resource_block_nb(pmix_resource_block_directive_t directive, char* block,
                                                 const pmix_resource_unit_t* units, size_t nunits,
                                                 const pmix_info_t* info, size_t ninfo,
                                                 pmix_op_cbfunc_t cbfunc, void* cbdata);

/// Pauses, signals, checkpoints jobs, registers clean-up of files.
PMIX_EXPORT pmix_status_t PMIx_Job_control(const pmix_proc_t* targets, size_t ntargets,
                                           const pmix_info_t* directives, size_t ndirs, pmix_info_t** results,
                                           size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Job_control_nb(const pmix_proc_t* targets, size_t ntargets,
                                              const pmix_info_t* directives, size_t ndirs,
                                              pmix_info_cbfunc_t cbfunc, void* cbdata);

/// Watches processes, files, resources; PMIx_Heartbeat tells that the caller is alive.
PMIX_EXPORT pmix_status_t PMIx_Process_monitor(const pmix_info_t* monitor, pmix_status_t error,
                                               const pmix_info_t* directives, size_t ndirs,
                                               pmix_info_t** results, size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Process_monitor_nb(const pmix_info_t* monitor, pmix_status_t error,
                                                  const pmix_info_t* directives, size_t ndirs,
                                                  pmix_info_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT void PMIx_Heartbeat(void);

/* ---- Security ---- */

/// A credential that others can check, and the check.
PMIX_EXPORT pmix_status_t PMIx_Get_credential(const pmix_info_t* info, size_t ninfo,
                                              pmix_byte_object_t* credential);
PMIX_EXPORT pmix_status_t PMIx_Get_credential_nb(const pmix_info_t* info, size_t ninfo,
                                                 pmix_credential_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Validate_credential(const pmix_byte_object_t* credential,
                                                   const pmix_info_t* info, size_t ninfo,
                                                   pmix_info_t** results, size_t* nresults);
PMIX_EXPORT pmix_status_t PMIx_Validate_credential_nb(const pmix_byte_object_t* credential,
                                                      const pmix_info_t* info, size_t ninfo,
                                                      pmix_validation_cbfunc_t cbfunc, void* cbdata);

/* ---- Fabric Support Definitions ---- */

/// Asks for a fabric's description, to be kept up to date until deregistered.
PMIX_EXPORT pmix_status_t PMIx_Fabric_register(pmix_fabric_t* fabric, const pmix_info_t* directives,
                                               size_t ndirs);
PMIX_EXPORT pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t* fabric, const pmix_info_t* directives,
                                                  size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Fabric_update(pmix_fabric_t* fabric);
PMIX_EXPORT pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t cbfunc, void* cbdata);
PMIX_EXPORT pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t* fabric);
PMIX_EXPORT pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t cbfunc,
                                                    void* cbdata);

/* ---- Data Packing and Unpacking ---- */

/// Appends `nvals` objects of `type` to the buffer, for `target` to unpack (NULL = a process like this one).
PMIX_EXPORT pmix_status_t PMIx_Data_pack(const pmix_proc_t* target, pmix_data_buffer_t* buffer, void* src,
                                         int32_t nvals, pmix_data_type_t type);

/// Takes up to *nvals objects out and sets *nvals; PMIX_ERR_UNPACK_INADEQUATE_SPACE if there were more.
PMIX_EXPORT pmix_status_t PMIx_Data_unpack(const pmix_proc_t* source, pmix_data_buffer_t* buffer, void* dest,
                                           int32_t* nvals, pmix_data_type_t type);

/// Deep copy of one object; a printable form of one.
PMIX_EXPORT pmix_status_t PMIx_Data_copy(void** dest, void* src, pmix_data_type_t type);
PMIX_EXPORT pmix_status_t PMIx_Data_print(char** output, char* prefix, void* src, pmix_data_type_t type);

/// Append a buffer's unread content, or a payload, to a buffer: both are copied.
PMIX_EXPORT pmix_status_t PMIx_Data_copy_payload(pmix_data_buffer_t* dest, pmix_data_buffer_t* src);
PMIX_EXPORT pmix_status_t PMIx_Data_embed(pmix_data_buffer_t* buffer, const pmix_byte_object_t* payload);

/// New memory in `out`; false if that failed or did not help.
PMIX_EXPORT bool PMIx_Data_compress(const uint8_t* in, size_t in_size, uint8_t** out, size_t* out_size);
PMIX_EXPORT bool PMIx_Data_decompress(const uint8_t* in, size_t in_size, uint8_t** out, size_t* out_size);

/* ---- Data Structures and Types ---- */

/// Static strings, never NULL; PMIx_Error_code is the way back from a status name.
PMIX_EXPORT const char* PMIx_Error_string(pmix_status_t status);
PMIX_EXPORT pmix_status_t PMIx_Error_code(const char* name);
PMIX_EXPORT const char* PMIx_Proc_state_string(pmix_proc_state_t state);
PMIX_EXPORT const char* PMIx_Job_state_string(pmix_job_state_t state);
PMIX_EXPORT const char* PMIx_Scope_string(pmix_scope_t scope);
PMIX_EXPORT const char* PMIx_Persistence_string(pmix_persistence_t persistence);
PMIX_EXPORT const char* PMIx_Data_range_string(pmix_data_range_t range);
PMIX_EXPORT const char* PMIx_Data_type_string(pmix_data_type_t type);
PMIX_EXPORT const char* PMIx_Alloc_directive_string(pmix_alloc_directive_t directive);
PMIX_EXPORT const char* PMIx_Alloc_inheritance_string(pmix_alloc_inheritance_t inheritance);
PMIX_EXPORT const char* PMIx_Resource_block_directive_string(pmix_resource_block_directive_t directive);
PMIX_EXPORT const char* PMIx_IOF_channel_string(pmix_iof_channel_t channel);
PMIX_EXPORT const char* PMIx_Link_state_string(pmix_link_state_t state);
PMIX_EXPORT const char* PMIx_Device_type_string(pmix_device_type_t type);
PMIX_EXPORT const char* PMIx_Group_operation_string(pmix_group_operation_t operation);
PMIX_EXPORT const char* PMIx_Value_comparison_string(pmix_value_cmp_t cmp);

/// Between the name of an attribute's macro and its key; unknown ones come back as they are.
PMIX_EXPORT const char* PMIx_Get_attribute_string(const char* name);
PMIX_EXPORT const char* PMIx_Get_attribute_name(const char* key);

/// Strings that the caller frees.
PMIX_EXPORT char* PMIx_Info_directives_string(pmix_info_directives_t directives);
PMIX_EXPORT char* PMIx_Info_string(const pmix_info_t* info);
PMIX_EXPORT char* PMIx_Value_string(const pmix_value_t* val);
PMIX_EXPORT char* PMIx_Proc_string(const pmix_proc_t* proc);
PMIX_EXPORT char* PMIx_App_string(const pmix_app_t* app);
PMIX_EXPORT char* PMIx_Resource_unit_string(const pmix_resource_unit_t* unit);

// 4.2.2 has no such function, only a macro; this one works with libraries of either kind.
static inline void weft_heartbeat(void) {
  pmix_info_t beat = PMIX_INFO_STATIC_INIT;
  if (PMIX_SUCCESS == PMIx_Info_load(&beat, PMIX_SEND_HEARTBEAT, NULL, PMIX_POINTER)) {
    (void)PMIx_Process_monitor_nb(&beat, PMIX_SUCCESS, NULL, 0, NULL, NULL);
    PMIX_INFO_DESTRUCT(&beat);
  }
}
#define PMIx_Heartbeat() weft_heartbeat()

#if defined(__cplusplus)
}
#endif

#endif
