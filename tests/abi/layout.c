// SPDX-License-Identifier: BSD-3-Clause
//
// Sizes, alignments and offsets that programs have compiled in: 4.2.2 on 64-bit Linux, and for types that
// came later the release that brought them. Compiling this file is the test. A long file because it is a
// table of facts; a line that fails means that the headers are wrong, never the table.
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>

#if defined(__LP64__)

#define TYPE(type, size, alignment) \
  _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), "layout of " #type)
#define FIELD(type, field, offset, size) \
  _Static_assert(offsetof(type, field) == (offset) && sizeof(((type*)0)->field) == (size), #type "." #field)

// Enumerations
TYPE(pmix_value_cmp_t, 4, 4);
TYPE(pmix_group_opt_t, 4, 4);
TYPE(pmix_group_operation_t, 4, 4);
TYPE(pmix_boolean_t, 4, 4);
TYPE(pmix_fabric_operation_t, 4, 4);

// Scalars and fixed arrays
TYPE(pmix_nspace_t, 256, 1);
TYPE(pmix_key_t, 512, 1);
TYPE(pmix_rank_t, 4, 4);
TYPE(pmix_proc_state_t, 1, 1);
TYPE(pmix_job_state_t, 1, 1);
TYPE(pmix_status_t, 4, 4);
TYPE(pmix_data_type_t, 2, 2);
TYPE(pmix_scope_t, 1, 1);
TYPE(pmix_data_range_t, 1, 1);
TYPE(pmix_persistence_t, 1, 1);
TYPE(pmix_info_directives_t, 4, 4);
TYPE(pmix_alloc_directive_t, 1, 1);
TYPE(pmix_iof_channel_t, 2, 2);
TYPE(pmix_storage_medium_t, 8, 8);
TYPE(pmix_storage_accessibility_t, 8, 8);
TYPE(pmix_storage_persistence_t, 8, 8);
TYPE(pmix_storage_access_type_t, 2, 2);
TYPE(pmix_coord_view_t, 1, 1);
TYPE(pmix_link_state_t, 1, 1);
TYPE(pmix_bind_envelope_t, 1, 1);
TYPE(pmix_locality_t, 2, 2);
TYPE(pmix_device_type_t, 8, 8);
TYPE(pmix_alloc_inheritance_t, 1, 1);
TYPE(pmix_resource_block_directive_t, 1, 1);

// Callbacks
TYPE(pmix_release_cbfunc_t, 8, 8);
TYPE(pmix_modex_cbfunc_t, 8, 8);
TYPE(pmix_spawn_cbfunc_t, 8, 8);
TYPE(pmix_op_cbfunc_t, 8, 8);
TYPE(pmix_lookup_cbfunc_t, 8, 8);
TYPE(pmix_event_notification_cbfunc_fn_t, 8, 8);
TYPE(pmix_notification_fn_t, 8, 8);
TYPE(pmix_hdlr_reg_cbfunc_t, 8, 8);
TYPE(pmix_evhdlr_reg_cbfunc_t, 8, 8);
TYPE(pmix_value_cbfunc_t, 8, 8);
TYPE(pmix_info_cbfunc_t, 8, 8);
TYPE(pmix_credential_cbfunc_t, 8, 8);
TYPE(pmix_validation_cbfunc_t, 8, 8);
TYPE(pmix_device_dist_cbfunc_t, 8, 8);
TYPE(pmix_server_client_connected_fn_t, 8, 8);
TYPE(pmix_server_client_connected2_fn_t, 8, 8);
TYPE(pmix_server_client_finalized_fn_t, 8, 8);
TYPE(pmix_server_abort_fn_t, 8, 8);
TYPE(pmix_server_fencenb_fn_t, 8, 8);
TYPE(pmix_server_dmodex_req_fn_t, 8, 8);
TYPE(pmix_server_publish_fn_t, 8, 8);
TYPE(pmix_server_lookup_fn_t, 8, 8);
TYPE(pmix_server_unpublish_fn_t, 8, 8);
TYPE(pmix_server_spawn_fn_t, 8, 8);
TYPE(pmix_server_connect_fn_t, 8, 8);
TYPE(pmix_server_disconnect_fn_t, 8, 8);
TYPE(pmix_server_register_events_fn_t, 8, 8);
TYPE(pmix_server_deregister_events_fn_t, 8, 8);
TYPE(pmix_server_notify_event_fn_t, 8, 8);
TYPE(pmix_connection_cbfunc_t, 8, 8);
TYPE(pmix_server_listener_fn_t, 8, 8);
TYPE(pmix_server_query_fn_t, 8, 8);
TYPE(pmix_tool_connection_cbfunc_t, 8, 8);
TYPE(pmix_server_tool_connection_fn_t, 8, 8);
TYPE(pmix_server_log_fn_t, 8, 8);
TYPE(pmix_server_alloc_fn_t, 8, 8);
TYPE(pmix_server_job_control_fn_t, 8, 8);
TYPE(pmix_server_monitor_fn_t, 8, 8);
TYPE(pmix_server_get_cred_fn_t, 8, 8);
TYPE(pmix_server_validate_cred_fn_t, 8, 8);
TYPE(pmix_server_iof_fn_t, 8, 8);
TYPE(pmix_server_stdin_fn_t, 8, 8);
TYPE(pmix_server_grp_fn_t, 8, 8);
TYPE(pmix_server_fabric_fn_t, 8, 8);
TYPE(pmix_dmodex_response_fn_t, 8, 8);
TYPE(pmix_setup_application_cbfunc_t, 8, 8);
TYPE(pmix_iof_cbfunc_t, 8, 8);
TYPE(pmix_server_tool_connection2_fn_t, 8, 8);
TYPE(pmix_server_log2_fn_t, 8, 8);
TYPE(pmix_server_session_control_fn_t, 8, 8);
TYPE(pmix_server_resource_block_fn_t, 8, 8);

TYPE(pmix_coord_t, 24, 8);
FIELD(pmix_coord_t, view, 0, 1);
FIELD(pmix_coord_t, coord, 8, 8);
FIELD(pmix_coord_t, dims, 16, 8);

TYPE(pmix_cpuset_t, 16, 8);
FIELD(pmix_cpuset_t, source, 0, 8);
FIELD(pmix_cpuset_t, bitmap, 8, 8);

TYPE(pmix_topology_t, 16, 8);
FIELD(pmix_topology_t, source, 0, 8);
FIELD(pmix_topology_t, topology, 8, 8);

TYPE(pmix_geometry_t, 40, 8);
FIELD(pmix_geometry_t, fabric, 0, 8);
FIELD(pmix_geometry_t, uuid, 8, 8);
FIELD(pmix_geometry_t, osname, 16, 8);
FIELD(pmix_geometry_t, coordinates, 24, 8);
FIELD(pmix_geometry_t, ncoords, 32, 8);

TYPE(pmix_device_distance_t, 32, 8);
FIELD(pmix_device_distance_t, uuid, 0, 8);
FIELD(pmix_device_distance_t, osname, 8, 8);
FIELD(pmix_device_distance_t, type, 16, 8);
FIELD(pmix_device_distance_t, mindist, 24, 2);
FIELD(pmix_device_distance_t, maxdist, 26, 2);

TYPE(pmix_byte_object_t, 16, 8);
FIELD(pmix_byte_object_t, bytes, 0, 8);
FIELD(pmix_byte_object_t, size, 8, 8);

TYPE(pmix_endpoint_t, 32, 8);
FIELD(pmix_endpoint_t, uuid, 0, 8);
FIELD(pmix_endpoint_t, osname, 8, 8);
FIELD(pmix_endpoint_t, endpt, 16, 16);

TYPE(pmix_envar_t, 24, 8);
FIELD(pmix_envar_t, envar, 0, 8);
FIELD(pmix_envar_t, value, 8, 8);
FIELD(pmix_envar_t, separator, 16, 1);

TYPE(pmix_proc_t, 260, 4);
FIELD(pmix_proc_t, nspace, 0, 256);
FIELD(pmix_proc_t, rank, 256, 4);

TYPE(pmix_proc_info_t, 296, 8);
FIELD(pmix_proc_info_t, proc, 0, 260);
FIELD(pmix_proc_info_t, hostname, 264, 8);
FIELD(pmix_proc_info_t, executable_name, 272, 8);
FIELD(pmix_proc_info_t, pid, 280, 4);
FIELD(pmix_proc_info_t, exit_code, 284, 4);
FIELD(pmix_proc_info_t, state, 288, 1);

TYPE(pmix_data_array_t, 24, 8);
FIELD(pmix_data_array_t, type, 0, 2);
FIELD(pmix_data_array_t, size, 8, 8);
FIELD(pmix_data_array_t, array, 16, 8);

TYPE(pmix_data_buffer_t, 40, 8);
FIELD(pmix_data_buffer_t, base_ptr, 0, 8);
FIELD(pmix_data_buffer_t, pack_ptr, 8, 8);
FIELD(pmix_data_buffer_t, unpack_ptr, 16, 8);
FIELD(pmix_data_buffer_t, bytes_allocated, 24, 8);
FIELD(pmix_data_buffer_t, bytes_used, 32, 8);

TYPE(pmix_proc_stats_t, 352, 8);
FIELD(pmix_proc_stats_t, node, 0, 8);
FIELD(pmix_proc_stats_t, proc, 8, 260);
FIELD(pmix_proc_stats_t, pid, 268, 4);
FIELD(pmix_proc_stats_t, cmd, 272, 8);
FIELD(pmix_proc_stats_t, state, 280, 1);
FIELD(pmix_proc_stats_t, time, 288, 16);
FIELD(pmix_proc_stats_t, percent_cpu, 304, 4);
FIELD(pmix_proc_stats_t, priority, 308, 4);
FIELD(pmix_proc_stats_t, num_threads, 312, 2);
FIELD(pmix_proc_stats_t, pss, 316, 4);
FIELD(pmix_proc_stats_t, vsize, 320, 4);
FIELD(pmix_proc_stats_t, rss, 324, 4);
FIELD(pmix_proc_stats_t, peak_vsize, 328, 4);
FIELD(pmix_proc_stats_t, processor, 332, 2);
FIELD(pmix_proc_stats_t, sample_time, 336, 16);

TYPE(pmix_disk_stats_t, 96, 8);
FIELD(pmix_disk_stats_t, disk, 0, 8);
FIELD(pmix_disk_stats_t, num_reads_completed, 8, 8);
FIELD(pmix_disk_stats_t, num_reads_merged, 16, 8);
FIELD(pmix_disk_stats_t, num_sectors_read, 24, 8);
FIELD(pmix_disk_stats_t, milliseconds_reading, 32, 8);
FIELD(pmix_disk_stats_t, num_writes_completed, 40, 8);
FIELD(pmix_disk_stats_t, num_writes_merged, 48, 8);
FIELD(pmix_disk_stats_t, num_sectors_written, 56, 8);
FIELD(pmix_disk_stats_t, milliseconds_writing, 64, 8);
FIELD(pmix_disk_stats_t, num_ios_in_progress, 72, 8);
FIELD(pmix_disk_stats_t, milliseconds_io, 80, 8);
FIELD(pmix_disk_stats_t, weighted_milliseconds_io, 88, 8);

TYPE(pmix_net_stats_t, 56, 8);
FIELD(pmix_net_stats_t, net_interface, 0, 8);
FIELD(pmix_net_stats_t, num_bytes_recvd, 8, 8);
FIELD(pmix_net_stats_t, num_packets_recvd, 16, 8);
FIELD(pmix_net_stats_t, num_recv_errs, 24, 8);
FIELD(pmix_net_stats_t, num_bytes_sent, 32, 8);
FIELD(pmix_net_stats_t, num_packets_sent, 40, 8);
FIELD(pmix_net_stats_t, num_send_errs, 48, 8);

TYPE(pmix_node_stats_t, 104, 8);
FIELD(pmix_node_stats_t, node, 0, 8);
FIELD(pmix_node_stats_t, la, 8, 4);
FIELD(pmix_node_stats_t, la5, 12, 4);
FIELD(pmix_node_stats_t, la15, 16, 4);
FIELD(pmix_node_stats_t, total_mem, 20, 4);
FIELD(pmix_node_stats_t, free_mem, 24, 4);
FIELD(pmix_node_stats_t, buffers, 28, 4);
FIELD(pmix_node_stats_t, cached, 32, 4);
FIELD(pmix_node_stats_t, swap_cached, 36, 4);
FIELD(pmix_node_stats_t, swap_total, 40, 4);
FIELD(pmix_node_stats_t, swap_free, 44, 4);
FIELD(pmix_node_stats_t, mapped, 48, 4);
FIELD(pmix_node_stats_t, sample_time, 56, 16);
FIELD(pmix_node_stats_t, diskstats, 72, 8);
FIELD(pmix_node_stats_t, ndiskstats, 80, 8);
FIELD(pmix_node_stats_t, netstats, 88, 8);
FIELD(pmix_node_stats_t, nnetstats, 96, 8);

TYPE(pmix_value_t, 32, 8);
FIELD(pmix_value_t, type, 0, 2);
FIELD(pmix_value_t, data, 8, 24);
FIELD(pmix_value_t, data.flag, 8, 1);
FIELD(pmix_value_t, data.byte, 8, 1);
FIELD(pmix_value_t, data.string, 8, 8);
FIELD(pmix_value_t, data.size, 8, 8);
FIELD(pmix_value_t, data.pid, 8, 4);
FIELD(pmix_value_t, data.integer, 8, 4);
FIELD(pmix_value_t, data.int8, 8, 1);
FIELD(pmix_value_t, data.int16, 8, 2);
FIELD(pmix_value_t, data.int32, 8, 4);
FIELD(pmix_value_t, data.int64, 8, 8);
FIELD(pmix_value_t, data.uint, 8, 4);
FIELD(pmix_value_t, data.uint8, 8, 1);
FIELD(pmix_value_t, data.uint16, 8, 2);
FIELD(pmix_value_t, data.uint32, 8, 4);
FIELD(pmix_value_t, data.uint64, 8, 8);
FIELD(pmix_value_t, data.fval, 8, 4);
FIELD(pmix_value_t, data.dval, 8, 8);
FIELD(pmix_value_t, data.tv, 8, 16);
FIELD(pmix_value_t, data.time, 8, 8);
FIELD(pmix_value_t, data.status, 8, 4);
FIELD(pmix_value_t, data.rank, 8, 4);
FIELD(pmix_value_t, data.nspace, 8, 8);
FIELD(pmix_value_t, data.proc, 8, 8);
FIELD(pmix_value_t, data.bo, 8, 16);
FIELD(pmix_value_t, data.persist, 8, 1);
FIELD(pmix_value_t, data.scope, 8, 1);
FIELD(pmix_value_t, data.range, 8, 1);
FIELD(pmix_value_t, data.state, 8, 1);
FIELD(pmix_value_t, data.pinfo, 8, 8);
FIELD(pmix_value_t, data.darray, 8, 8);
FIELD(pmix_value_t, data.ptr, 8, 8);
FIELD(pmix_value_t, data.adir, 8, 1);
FIELD(pmix_value_t, data.envar, 8, 24);
FIELD(pmix_value_t, data.coord, 8, 8);
FIELD(pmix_value_t, data.linkstate, 8, 1);
FIELD(pmix_value_t, data.jstate, 8, 1);
FIELD(pmix_value_t, data.topo, 8, 8);
FIELD(pmix_value_t, data.cpuset, 8, 8);
FIELD(pmix_value_t, data.locality, 8, 2);
FIELD(pmix_value_t, data.geometry, 8, 8);
FIELD(pmix_value_t, data.devtype, 8, 8);
FIELD(pmix_value_t, data.devdist, 8, 8);
FIELD(pmix_value_t, data.endpoint, 8, 8);
FIELD(pmix_value_t, data.dbuf, 8, 8);
FIELD(pmix_value_t, data.pstats, 8, 8);
FIELD(pmix_value_t, data.dkstats, 8, 8);
FIELD(pmix_value_t, data.netstats, 8, 8);
FIELD(pmix_value_t, data.ndstats, 8, 8);
FIELD(pmix_value_t, data.rbdir, 8, 1);
FIELD(pmix_value_t, data.inheritance, 8, 1);
FIELD(pmix_value_t, data.device, 8, 8);
FIELD(pmix_value_t, data.resunit, 8, 8);
FIELD(pmix_value_t, data.nodepid, 8, 8);
FIELD(pmix_value_t, data.regex2, 8, 8);

TYPE(pmix_info_t, 552, 8);
FIELD(pmix_info_t, key, 0, 512);
FIELD(pmix_info_t, flags, 512, 4);
FIELD(pmix_info_t, value, 520, 32);

TYPE(pmix_pdata_t, 808, 8);
FIELD(pmix_pdata_t, proc, 0, 260);
FIELD(pmix_pdata_t, key, 260, 512);
FIELD(pmix_pdata_t, value, 776, 32);

TYPE(pmix_app_t, 56, 8);
FIELD(pmix_app_t, cmd, 0, 8);
FIELD(pmix_app_t, argv, 8, 8);
FIELD(pmix_app_t, env, 16, 8);
FIELD(pmix_app_t, cwd, 24, 8);
FIELD(pmix_app_t, maxprocs, 32, 4);
FIELD(pmix_app_t, info, 40, 8);
FIELD(pmix_app_t, ninfo, 48, 8);

TYPE(pmix_query_t, 24, 8);
FIELD(pmix_query_t, keys, 0, 8);
FIELD(pmix_query_t, qualifiers, 8, 8);
FIELD(pmix_query_t, nqual, 16, 8);

TYPE(pmix_regattr_t, 536, 8);
FIELD(pmix_regattr_t, name, 0, 8);
FIELD(pmix_regattr_t, string, 8, 512);
FIELD(pmix_regattr_t, type, 520, 2);
FIELD(pmix_regattr_t, description, 528, 8);

TYPE(pmix_fabric_t, 40, 8);
FIELD(pmix_fabric_t, name, 0, 8);
FIELD(pmix_fabric_t, index, 8, 8);
FIELD(pmix_fabric_t, info, 16, 8);
FIELD(pmix_fabric_t, ninfo, 24, 8);
FIELD(pmix_fabric_t, module, 32, 8);

TYPE(pmix_server_module_t, 224, 8);
FIELD(pmix_server_module_t, client_connected, 0, 8);
FIELD(pmix_server_module_t, client_finalized, 8, 8);
FIELD(pmix_server_module_t, abort, 16, 8);
FIELD(pmix_server_module_t, fence_nb, 24, 8);
FIELD(pmix_server_module_t, direct_modex, 32, 8);
FIELD(pmix_server_module_t, publish, 40, 8);
FIELD(pmix_server_module_t, lookup, 48, 8);
FIELD(pmix_server_module_t, unpublish, 56, 8);
FIELD(pmix_server_module_t, spawn, 64, 8);
FIELD(pmix_server_module_t, connect, 72, 8);
FIELD(pmix_server_module_t, disconnect, 80, 8);
FIELD(pmix_server_module_t, register_events, 88, 8);
FIELD(pmix_server_module_t, deregister_events, 96, 8);
FIELD(pmix_server_module_t, listener, 104, 8);
FIELD(pmix_server_module_t, notify_event, 112, 8);
FIELD(pmix_server_module_t, query, 120, 8);
FIELD(pmix_server_module_t, tool_connected, 128, 8);
FIELD(pmix_server_module_t, log, 136, 8);
FIELD(pmix_server_module_t, allocate, 144, 8);
FIELD(pmix_server_module_t, job_control, 152, 8);
FIELD(pmix_server_module_t, monitor, 160, 8);
FIELD(pmix_server_module_t, get_credential, 168, 8);
FIELD(pmix_server_module_t, validate_credential, 176, 8);
FIELD(pmix_server_module_t, iof_pull, 184, 8);
FIELD(pmix_server_module_t, push_stdin, 192, 8);
FIELD(pmix_server_module_t, group, 200, 8);
FIELD(pmix_server_module_t, fabric, 208, 8);
FIELD(pmix_server_module_t, client_connected2, 216, 8);

TYPE(pmix_device_t, 24, 8);
FIELD(pmix_device_t, uuid, 0, 8);
FIELD(pmix_device_t, osname, 8, 8);
FIELD(pmix_device_t, type, 16, 8);

TYPE(pmix_resource_unit_t, 16, 8);
FIELD(pmix_resource_unit_t, type, 0, 8);
FIELD(pmix_resource_unit_t, count, 8, 8);

TYPE(pmix_node_pid_t, 16, 8);
FIELD(pmix_node_pid_t, hostname, 0, 8);
FIELD(pmix_node_pid_t, nodeid, 8, 4);
FIELD(pmix_node_pid_t, pid, 12, 4);

TYPE(pmix_regex2_t, 24, 8);
FIELD(pmix_regex2_t, type, 0, 8);
FIELD(pmix_regex2_t, bytes, 8, 8);
FIELD(pmix_regex2_t, len, 16, 8);

#endif
