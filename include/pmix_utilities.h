// SPDX-License-Identifier: BSD-3-Clause
//
// Functions on the objects of pmix_common.h that need no PMIx_Init. Most came after 4.2.2, where only the
// macros of pmix_macros.h did the same: a program that must run on a 4.2.2 library uses those.
//
//   X_construct(x)    empties *x
//   X_destruct(x)     frees what *x holds
//   X_create(n)       a new array of n empty objects, NULL = no memory
//   X_free(array, n)  destructs n objects and frees the array
//
// Chapter of the PMIx Standard: Data Structures and Types.
#ifndef PMIX_UTILITIES_H
#define PMIX_UTILITIES_H

#include "pmix_common.h"
#include "pmix_macros.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* ---- Values ---- */

PMIX_EXPORT void PMIx_Value_construct(pmix_value_t* val);
PMIX_EXPORT pmix_value_t* PMIx_Value_create(size_t n);
PMIX_EXPORT void PMIx_Value_free(pmix_value_t* array, size_t n);

/// Compares two values; numbers, strings and byte objects have an order, other types are only equal or not.
PMIX_EXPORT pmix_value_cmp_t PMIx_Value_compare(pmix_value_t* a, pmix_value_t* b);

/// Bytes that the value takes when packed.
PMIX_EXPORT pmix_status_t PMIx_Value_get_size(const pmix_value_t* val, size_t* size);

/// The value as a number of `type`. Errors: PMIX_ERR_LOST_PRECISION, _CHANGE_SIGN, _BAD_PARAM.
PMIX_EXPORT pmix_status_t PMIx_Value_get_number(const pmix_value_t* val, void* dest, pmix_data_type_t type);

/// How the value reads as a truth.
PMIX_EXPORT pmix_boolean_t PMIx_Value_true(const pmix_value_t* val);

/* ---- Infos ---- */

PMIX_EXPORT void PMIx_Info_construct(pmix_info_t* info);
PMIX_EXPORT void PMIx_Info_destruct(pmix_info_t* info);
PMIX_EXPORT pmix_info_t* PMIx_Info_create(size_t n);
PMIX_EXPORT void PMIx_Info_free(pmix_info_t* array, size_t n);
PMIX_EXPORT pmix_status_t PMIx_Info_get_size(const pmix_info_t* info, size_t* size);
PMIX_EXPORT pmix_boolean_t PMIx_Info_true(const pmix_info_t* info);

/// Directives: must be honoured or not, was honoured, ends the array, qualifies a key, lends its value.
PMIX_EXPORT void PMIx_Info_required(pmix_info_t* info);
PMIX_EXPORT void PMIx_Info_optional(pmix_info_t* info);
PMIX_EXPORT bool PMIx_Info_is_required(const pmix_info_t* info);
PMIX_EXPORT bool PMIx_Info_is_optional(const pmix_info_t* info);
PMIX_EXPORT void PMIx_Info_processed(pmix_info_t* info);
PMIX_EXPORT bool PMIx_Info_was_processed(const pmix_info_t* info);
PMIX_EXPORT void PMIx_Info_set_end(pmix_info_t* info);
PMIX_EXPORT bool PMIx_Info_is_end(const pmix_info_t* info);
PMIX_EXPORT void PMIx_Info_qualifier(pmix_info_t* info);
PMIX_EXPORT bool PMIx_Info_is_qualifier(const pmix_info_t* info);
PMIX_EXPORT void PMIx_Info_persistent(pmix_info_t* info);
PMIX_EXPORT bool PMIx_Info_is_persistent(const pmix_info_t* info);

/// More ways to fill an info list. The _unique forms keep one entry a key; `overwrite` decides which.
PMIX_EXPORT pmix_status_t PMIx_Info_list_prepend(void* list, const char* key, const void* value,
                                                 pmix_data_type_t type);
PMIX_EXPORT pmix_status_t PMIx_Info_list_add_unique(void* list, const char* key, const void* value,
                                                    pmix_data_type_t type, bool overwrite);
PMIX_EXPORT pmix_status_t PMIx_Info_list_add_value(void* list, const char* key, const pmix_value_t* value);
PMIX_EXPORT pmix_status_t PMIx_Info_list_add_value_unique(void* list, const char* key,
                                                          const pmix_value_t* value, bool overwrite);
PMIX_EXPORT pmix_status_t PMIx_Info_list_xfer_unique(void* list, const pmix_info_t* info, bool overwrite);
PMIX_EXPORT size_t PMIx_Info_list_get_size(void* list);

/// Walks a list: pass NULL first, then what came back in `next`; that is NULL after the last.
PMIX_EXPORT pmix_info_t* PMIx_Info_list_get_info(void* list, void* previous, void** next);

/* ---- Keys, namespaces, process identities ---- */

/// Copy a name into a key or namespace array, cut at the limit and zero-filled.
PMIX_EXPORT void PMIx_Load_key(char* dest, const char* src);
PMIX_EXPORT void PMIx_Load_nspace(char* dest, const char* src);

PMIX_EXPORT bool PMIx_Check_key(const char* key, const char* text);
PMIX_EXPORT bool PMIx_Check_reserved_key(const char* key);

/// An empty namespace matches any, and so does the wildcard rank.
PMIX_EXPORT bool PMIx_Check_nspace(const char* a, const char* b);
PMIX_EXPORT bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b);
PMIX_EXPORT bool PMIx_Check_procid(const pmix_proc_t* a, const pmix_proc_t* b);
PMIX_EXPORT bool PMIx_Nspace_invalid(const char* nspace);
PMIX_EXPORT bool PMIx_Procid_invalid(const pmix_proc_t* proc);
PMIX_EXPORT bool PMIx_Rank_valid(pmix_rank_t rank);

PMIX_EXPORT void PMIx_Proc_construct(pmix_proc_t* proc);
PMIX_EXPORT void PMIx_Proc_destruct(pmix_proc_t* proc);
PMIX_EXPORT pmix_proc_t* PMIx_Proc_create(size_t n);
PMIX_EXPORT void PMIx_Proc_free(pmix_proc_t* array, size_t n);
PMIX_EXPORT void PMIx_Proc_load(pmix_proc_t* proc, const char* nspace, pmix_rank_t rank);
PMIX_EXPORT void PMIx_Load_procid(pmix_proc_t* proc, const char* nspace, pmix_rank_t rank);
PMIX_EXPORT void PMIx_Xfer_procid(pmix_proc_t* dest, const pmix_proc_t* src);

/// "cluster:nspace" and its parts; each array holds PMIX_MAX_NSLEN + 1 characters.
PMIX_EXPORT void PMIx_Multicluster_nspace_construct(char* target, char* cluster, char* nspace);
PMIX_EXPORT void PMIx_Multicluster_nspace_parse(char* target, char* cluster, char* nspace);

/* ---- Strings and environments ---- */

/// NULL-terminated arrays of strings that grow.
PMIX_EXPORT pmix_status_t PMIx_Argv_append_nosize(char*** argv, const char* text);
PMIX_EXPORT pmix_status_t PMIx_Argv_prepend_nosize(char*** argv, const char* text);
PMIX_EXPORT pmix_status_t PMIx_Argv_append_unique_nosize(char*** argv, const char* text);
PMIX_EXPORT char** PMIx_Argv_split(const char* text, int delimiter);
PMIX_EXPORT char** PMIx_Argv_split_inter(const char* text, int delimiter, bool include_empty);
PMIX_EXPORT char** PMIx_Argv_split_with_empty(const char* text, int delimiter);
PMIX_EXPORT char* PMIx_Argv_join(char** argv, int delimiter);
PMIX_EXPORT char** PMIx_Argv_copy(char** argv);
PMIX_EXPORT int PMIx_Argv_count(char** argv);
PMIX_EXPORT void PMIx_Argv_free(char** argv);

/// Sets name=value in `*env`. Error: PMIX_ERR_EXISTS if it is set and must not be overwritten.
PMIX_EXPORT pmix_status_t PMIx_Setenv(const char* name, const char* value, bool overwrite, char*** env);

/* ---- Byte objects, environment variables, buffers, arrays ---- */

PMIX_EXPORT void PMIx_Byte_object_construct(pmix_byte_object_t* payload);
PMIX_EXPORT void PMIx_Byte_object_destruct(pmix_byte_object_t* payload);
PMIX_EXPORT pmix_byte_object_t* PMIx_Byte_object_create(size_t n);
PMIX_EXPORT void PMIx_Byte_object_free(pmix_byte_object_t* array, size_t n);
PMIX_EXPORT void PMIx_Byte_object_load(pmix_byte_object_t* object, char* bytes, size_t size);

PMIX_EXPORT void PMIx_Envar_construct(pmix_envar_t* envar);
PMIX_EXPORT void PMIx_Envar_destruct(pmix_envar_t* envar);
PMIX_EXPORT pmix_envar_t* PMIx_Envar_create(size_t n);
PMIX_EXPORT void PMIx_Envar_free(pmix_envar_t* array, size_t n);
PMIX_EXPORT void PMIx_Envar_load(pmix_envar_t* envar, char* name, char* value, char separator);

PMIX_EXPORT void PMIx_Data_buffer_construct(pmix_data_buffer_t* buffer);
PMIX_EXPORT void PMIx_Data_buffer_destruct(pmix_data_buffer_t* buffer);
PMIX_EXPORT pmix_data_buffer_t* PMIx_Data_buffer_create(void);
PMIX_EXPORT void PMIx_Data_buffer_release(pmix_data_buffer_t* buffer);
PMIX_EXPORT void PMIx_Data_buffer_load(pmix_data_buffer_t* buffer, char* bytes, size_t size);
PMIX_EXPORT void PMIx_Data_buffer_unload(pmix_data_buffer_t* buffer, char** bytes, size_t* size);

PMIX_EXPORT void PMIx_Data_array_init(pmix_data_array_t* array, pmix_data_type_t type);
PMIX_EXPORT void PMIx_Data_array_construct(pmix_data_array_t* array, size_t n, pmix_data_type_t type);
PMIX_EXPORT pmix_data_array_t* PMIx_Data_array_create(size_t n, pmix_data_type_t type);
PMIX_EXPORT void PMIx_Data_array_free(pmix_data_array_t* array);

/* ---- Places, devices, endpoints, topologies ---- */

PMIX_EXPORT void PMIx_Coord_construct(pmix_coord_t* coord);
PMIX_EXPORT void PMIx_Coord_destruct(pmix_coord_t* coord);
PMIX_EXPORT pmix_coord_t* PMIx_Coord_create(size_t dims, size_t n);
PMIX_EXPORT void PMIx_Coord_free(pmix_coord_t* array, size_t n);

PMIX_EXPORT void PMIx_Geometry_construct(pmix_geometry_t* geometry);
PMIX_EXPORT void PMIx_Geometry_destruct(pmix_geometry_t* geometry);
PMIX_EXPORT pmix_geometry_t* PMIx_Geometry_create(size_t n);
PMIX_EXPORT void PMIx_Geometry_free(pmix_geometry_t* array, size_t n);

PMIX_EXPORT void PMIx_Device_distance_construct(pmix_device_distance_t* dist);
PMIX_EXPORT void PMIx_Device_distance_destruct(pmix_device_distance_t* dist);
PMIX_EXPORT pmix_device_distance_t* PMIx_Device_distance_create(size_t n);
PMIX_EXPORT void PMIx_Device_distance_free(pmix_device_distance_t* array, size_t n);

PMIX_EXPORT void PMIx_Device_construct(pmix_device_t* device);
PMIX_EXPORT void PMIx_Device_destruct(pmix_device_t* device);
PMIX_EXPORT pmix_device_t* PMIx_Device_create(size_t n);
PMIX_EXPORT void PMIx_Device_free(pmix_device_t* array, size_t n);

PMIX_EXPORT void PMIx_Resource_unit_construct(pmix_resource_unit_t* unit);
PMIX_EXPORT void PMIx_Resource_unit_destruct(pmix_resource_unit_t* unit);
PMIX_EXPORT pmix_resource_unit_t* PMIx_Resource_unit_create(size_t n);
PMIX_EXPORT void PMIx_Resource_unit_free(pmix_resource_unit_t* array, size_t n);

PMIX_EXPORT void PMIx_Endpoint_construct(pmix_endpoint_t* endpoint);
PMIX_EXPORT void PMIx_Endpoint_destruct(pmix_endpoint_t* endpoint);
PMIX_EXPORT pmix_endpoint_t* PMIx_Endpoint_create(size_t n);
PMIX_EXPORT void PMIx_Endpoint_free(pmix_endpoint_t* array, size_t n);

PMIX_EXPORT void PMIx_Topology_construct(pmix_topology_t* topo);
PMIX_EXPORT pmix_topology_t* PMIx_Topology_create(size_t n);
PMIX_EXPORT void PMIx_Topology_free(pmix_topology_t* array, size_t n);

PMIX_EXPORT void PMIx_Cpuset_construct(pmix_cpuset_t* cpuset);
PMIX_EXPORT pmix_cpuset_t* PMIx_Cpuset_create(size_t n);
PMIX_EXPORT void PMIx_Cpuset_free(pmix_cpuset_t* array, size_t n);

PMIX_EXPORT void PMIx_Fabric_construct(pmix_fabric_t* fabric);

/* ---- Processes and resource usage ---- */

PMIX_EXPORT void PMIx_Proc_info_construct(pmix_proc_info_t* info);
PMIX_EXPORT void PMIx_Proc_info_destruct(pmix_proc_info_t* info);
PMIX_EXPORT pmix_proc_info_t* PMIx_Proc_info_create(size_t n);
PMIX_EXPORT void PMIx_Proc_info_free(pmix_proc_info_t* array, size_t n);

PMIX_EXPORT void PMIx_Node_pid_construct(pmix_node_pid_t* nodepid);
PMIX_EXPORT void PMIx_Node_pid_destruct(pmix_node_pid_t* nodepid);
PMIX_EXPORT pmix_node_pid_t* PMIx_Node_pid_create(size_t n);
PMIX_EXPORT void PMIx_Node_pid_free(pmix_node_pid_t* array, size_t n);

/// The draft of the Standard spells the four above so.
PMIX_EXPORT void PMIx_Nodepid_construct(pmix_node_pid_t* nodepid);
PMIX_EXPORT void PMIx_Nodepid_destruct(pmix_node_pid_t* nodepid);
PMIX_EXPORT pmix_node_pid_t* PMIx_Nodepid_create(size_t n);
PMIX_EXPORT void PMIx_Nodepid_free(pmix_node_pid_t* array, size_t n);

/// Releases from 4.2.3 to 6.0 only.
PMIX_EXPORT void PMIx_Proc_stats_construct(pmix_proc_stats_t* stats);
PMIX_EXPORT void PMIx_Proc_stats_destruct(pmix_proc_stats_t* stats);
PMIX_EXPORT pmix_proc_stats_t* PMIx_Proc_stats_create(size_t n);
PMIX_EXPORT void PMIx_Proc_stats_free(pmix_proc_stats_t* array, size_t n);

PMIX_EXPORT void PMIx_Disk_stats_construct(pmix_disk_stats_t* stats);
PMIX_EXPORT void PMIx_Disk_stats_destruct(pmix_disk_stats_t* stats);
PMIX_EXPORT pmix_disk_stats_t* PMIx_Disk_stats_create(size_t n);
PMIX_EXPORT void PMIx_Disk_stats_free(pmix_disk_stats_t* array, size_t n);

PMIX_EXPORT void PMIx_Net_stats_construct(pmix_net_stats_t* stats);
PMIX_EXPORT void PMIx_Net_stats_destruct(pmix_net_stats_t* stats);
PMIX_EXPORT pmix_net_stats_t* PMIx_Net_stats_create(size_t n);
PMIX_EXPORT void PMIx_Net_stats_free(pmix_net_stats_t* array, size_t n);

PMIX_EXPORT void PMIx_Node_stats_construct(pmix_node_stats_t* stats);
PMIX_EXPORT void PMIx_Node_stats_destruct(pmix_node_stats_t* stats);
PMIX_EXPORT pmix_node_stats_t* PMIx_Node_stats_create(size_t n);
PMIX_EXPORT void PMIx_Node_stats_free(pmix_node_stats_t* array, size_t n);

/* ---- Published data, applications, queries, attribute descriptions, compressed lists ---- */

PMIX_EXPORT void PMIx_Pdata_construct(pmix_pdata_t* pdata);
PMIX_EXPORT void PMIx_Pdata_destruct(pmix_pdata_t* pdata);
PMIX_EXPORT pmix_pdata_t* PMIx_Pdata_create(size_t n);
PMIX_EXPORT void PMIx_Pdata_free(pmix_pdata_t* array, size_t n);
PMIX_EXPORT void PMIx_Pdata_release(pmix_pdata_t* pdata);
PMIX_EXPORT void PMIx_Pdata_load(pmix_pdata_t* dest, const pmix_proc_t* proc, const char* key,
                                 const void* data, pmix_data_type_t type);
PMIX_EXPORT void PMIx_Pdata_xfer(pmix_pdata_t* dest, pmix_pdata_t* src);

PMIX_EXPORT void PMIx_App_construct(pmix_app_t* app);
PMIX_EXPORT void PMIx_App_destruct(pmix_app_t* app);
PMIX_EXPORT pmix_app_t* PMIx_App_create(size_t n);
PMIX_EXPORT void PMIx_App_free(pmix_app_t* array, size_t n);
PMIX_EXPORT void PMIx_App_release(pmix_app_t* app);
PMIX_EXPORT void PMIx_App_info_create(pmix_app_t* app, size_t n);

PMIX_EXPORT void PMIx_Query_construct(pmix_query_t* query);
PMIX_EXPORT void PMIx_Query_destruct(pmix_query_t* query);
PMIX_EXPORT pmix_query_t* PMIx_Query_create(size_t n);
PMIX_EXPORT void PMIx_Query_free(pmix_query_t* array, size_t n);
PMIX_EXPORT void PMIx_Query_release(pmix_query_t* query);
PMIX_EXPORT void PMIx_Query_qualifiers_create(pmix_query_t* query, size_t n);

PMIX_EXPORT void PMIx_Regattr_construct(pmix_regattr_t* attr);
PMIX_EXPORT void PMIx_Regattr_destruct(pmix_regattr_t* attr);
PMIX_EXPORT pmix_regattr_t* PMIx_Regattr_create(size_t n);
PMIX_EXPORT void PMIx_Regattr_free(pmix_regattr_t* array, size_t n);
PMIX_EXPORT void PMIx_Regattr_load(pmix_regattr_t* attr, const char* name, const char* key,
                                   pmix_data_type_t type, const char* description);
PMIX_EXPORT void PMIx_Regattr_xfer(pmix_regattr_t* dest, const pmix_regattr_t* src);

PMIX_EXPORT void PMIx_Regex2_construct(pmix_regex2_t* regex);
PMIX_EXPORT void PMIx_Regex2_destruct(pmix_regex2_t* regex);
PMIX_EXPORT pmix_regex2_t* PMIx_Regex2_create(size_t n);
PMIX_EXPORT void PMIx_Regex2_free(pmix_regex2_t* array, size_t n);

/// Whether the event is one of the system's own, such as a node going down.
PMIX_EXPORT bool PMIx_System_event(pmix_status_t status);

#if defined(__cplusplus)
}
#endif

#endif
