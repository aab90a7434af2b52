// SPDX-License-Identifier: BSD-3-Clause
// PMIx Standard, chapter "Data Structures and Types": construct, destruct, create and free of every structure
// that needs no more than that. A long file because it is a table. What a structure owns is known to
// core/data/types/types.cpp; NULL is accepted everywhere, and create(0) returns NULL.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/abi/data/load.hpp"
#include "core/data/types/element.hpp"
#include "core/data/types/memory.hpp"
#include "core/data/types/value.hpp"
#include "pmix.h"

using namespace weft;

namespace {

template <class T>
void construct(T* object) noexcept {
  if (object != nullptr) std::memset(object, 0, sizeof *object);
}

template <class T>
void destruct(pmix_data_type_t type, T* object) noexcept {
  if (object != nullptr) data::destroy_elements(type, object, 1);
}

template <class T>
T* create(std::size_t n) noexcept {
  return n == 0 ? nullptr : static_cast<T*>(data::new_elements(sizeof(T), n));
}

template <class T>
void free_array(pmix_data_type_t type, T* array, std::size_t n) noexcept {
  if (array == nullptr) return;
  data::destroy_elements(type, array, n);
  std::free(array);
}

/// New text, or NULL for NULL; also NULL if there is no memory, which these functions cannot say.
char* copy_or_null(const char* text) noexcept {
  return text == nullptr ? nullptr : data::new_text(text);
}

}  // namespace

extern "C" {

void PMIx_Proc_construct(pmix_proc_t* object) {
  construct(object);
}
void PMIx_Proc_destruct(pmix_proc_t* object) {
  destruct(PMIX_PROC, object);
}
pmix_proc_t* PMIx_Proc_create(std::size_t n) {
  return create<pmix_proc_t>(n);
}
void PMIx_Proc_free(pmix_proc_t* array, std::size_t n) {
  free_array(PMIX_PROC, array, n);
}

void PMIx_Proc_info_construct(pmix_proc_info_t* object) {
  construct(object);
}
void PMIx_Proc_info_destruct(pmix_proc_info_t* object) {
  destruct(PMIX_PROC_INFO, object);
}
pmix_proc_info_t* PMIx_Proc_info_create(std::size_t n) {
  return create<pmix_proc_info_t>(n);
}
void PMIx_Proc_info_free(pmix_proc_info_t* array, std::size_t n) {
  free_array(PMIX_PROC_INFO, array, n);
}

void PMIx_Byte_object_construct(pmix_byte_object_t* object) {
  construct(object);
}
void PMIx_Byte_object_destruct(pmix_byte_object_t* object) {
  destruct(PMIX_BYTE_OBJECT, object);
}
pmix_byte_object_t* PMIx_Byte_object_create(std::size_t n) {
  return create<pmix_byte_object_t>(n);
}
void PMIx_Byte_object_free(pmix_byte_object_t* array, std::size_t n) {
  free_array(PMIX_BYTE_OBJECT, array, n);
}

void PMIx_Envar_construct(pmix_envar_t* object) {
  construct(object);
}
void PMIx_Envar_destruct(pmix_envar_t* object) {
  destruct(PMIX_ENVAR, object);
}
pmix_envar_t* PMIx_Envar_create(std::size_t n) {
  return create<pmix_envar_t>(n);
}
void PMIx_Envar_free(pmix_envar_t* array, std::size_t n) {
  free_array(PMIX_ENVAR, array, n);
}

void PMIx_Geometry_construct(pmix_geometry_t* object) {
  construct(object);
}
void PMIx_Geometry_destruct(pmix_geometry_t* object) {
  destruct(PMIX_GEOMETRY, object);
}
pmix_geometry_t* PMIx_Geometry_create(std::size_t n) {
  return create<pmix_geometry_t>(n);
}
void PMIx_Geometry_free(pmix_geometry_t* array, std::size_t n) {
  free_array(PMIX_GEOMETRY, array, n);
}

void PMIx_Device_construct(pmix_device_t* object) {
  construct(object);
}
void PMIx_Device_destruct(pmix_device_t* object) {
  destruct(PMIX_DEVICE, object);
}
pmix_device_t* PMIx_Device_create(std::size_t n) {
  return create<pmix_device_t>(n);
}
void PMIx_Device_free(pmix_device_t* array, std::size_t n) {
  free_array(PMIX_DEVICE, array, n);
}

void PMIx_Resource_unit_construct(pmix_resource_unit_t* object) {
  construct(object);
}
void PMIx_Resource_unit_destruct(pmix_resource_unit_t* object) {
  destruct(PMIX_RESOURCE_UNIT, object);
}
pmix_resource_unit_t* PMIx_Resource_unit_create(std::size_t n) {
  return create<pmix_resource_unit_t>(n);
}
void PMIx_Resource_unit_free(pmix_resource_unit_t* array, std::size_t n) {
  free_array(PMIX_RESOURCE_UNIT, array, n);
}

void PMIx_Endpoint_construct(pmix_endpoint_t* object) {
  construct(object);
}
void PMIx_Endpoint_destruct(pmix_endpoint_t* object) {
  destruct(PMIX_ENDPOINT, object);
}
pmix_endpoint_t* PMIx_Endpoint_create(std::size_t n) {
  return create<pmix_endpoint_t>(n);
}
void PMIx_Endpoint_free(pmix_endpoint_t* array, std::size_t n) {
  free_array(PMIX_ENDPOINT, array, n);
}

void PMIx_Topology_construct(pmix_topology_t* object) {
  construct(object);
}
void PMIx_Topology_destruct(pmix_topology_t* object) {
  destruct(PMIX_TOPO, object);
}
pmix_topology_t* PMIx_Topology_create(std::size_t n) {
  return create<pmix_topology_t>(n);
}
void PMIx_Topology_free(pmix_topology_t* array, std::size_t n) {
  free_array(PMIX_TOPO, array, n);
}

void PMIx_Cpuset_construct(pmix_cpuset_t* object) {
  construct(object);
}
void PMIx_Cpuset_destruct(pmix_cpuset_t* object) {
  destruct(PMIX_PROC_CPUSET, object);
}
pmix_cpuset_t* PMIx_Cpuset_create(std::size_t n) {
  return create<pmix_cpuset_t>(n);
}
void PMIx_Cpuset_free(pmix_cpuset_t* array, std::size_t n) {
  free_array(PMIX_PROC_CPUSET, array, n);
}

void PMIx_Node_pid_construct(pmix_node_pid_t* object) {
  construct(object);
}
void PMIx_Node_pid_destruct(pmix_node_pid_t* object) {
  destruct(PMIX_NODE_PID, object);
}
pmix_node_pid_t* PMIx_Node_pid_create(std::size_t n) {
  return create<pmix_node_pid_t>(n);
}
void PMIx_Node_pid_free(pmix_node_pid_t* array, std::size_t n) {
  free_array(PMIX_NODE_PID, array, n);
}

void PMIx_Nodepid_construct(pmix_node_pid_t* object) {
  construct(object);
}
void PMIx_Nodepid_destruct(pmix_node_pid_t* object) {
  destruct(PMIX_NODE_PID, object);
}
pmix_node_pid_t* PMIx_Nodepid_create(std::size_t n) {
  return create<pmix_node_pid_t>(n);
}
void PMIx_Nodepid_free(pmix_node_pid_t* array, std::size_t n) {
  free_array(PMIX_NODE_PID, array, n);
}

void PMIx_Proc_stats_construct(pmix_proc_stats_t* object) {
  construct(object);
}
void PMIx_Proc_stats_destruct(pmix_proc_stats_t* object) {
  destruct(PMIX_PROC_STATS, object);
}
pmix_proc_stats_t* PMIx_Proc_stats_create(std::size_t n) {
  return create<pmix_proc_stats_t>(n);
}
void PMIx_Proc_stats_free(pmix_proc_stats_t* array, std::size_t n) {
  free_array(PMIX_PROC_STATS, array, n);
}

void PMIx_Disk_stats_construct(pmix_disk_stats_t* object) {
  construct(object);
}
void PMIx_Disk_stats_destruct(pmix_disk_stats_t* object) {
  destruct(PMIX_DISK_STATS, object);
}
pmix_disk_stats_t* PMIx_Disk_stats_create(std::size_t n) {
  return create<pmix_disk_stats_t>(n);
}
void PMIx_Disk_stats_free(pmix_disk_stats_t* array, std::size_t n) {
  free_array(PMIX_DISK_STATS, array, n);
}

void PMIx_Net_stats_construct(pmix_net_stats_t* object) {
  construct(object);
}
void PMIx_Net_stats_destruct(pmix_net_stats_t* object) {
  destruct(PMIX_NET_STATS, object);
}
pmix_net_stats_t* PMIx_Net_stats_create(std::size_t n) {
  return create<pmix_net_stats_t>(n);
}
void PMIx_Net_stats_free(pmix_net_stats_t* array, std::size_t n) {
  free_array(PMIX_NET_STATS, array, n);
}

void PMIx_Node_stats_construct(pmix_node_stats_t* object) {
  construct(object);
}
void PMIx_Node_stats_destruct(pmix_node_stats_t* object) {
  destruct(PMIX_NODE_STATS, object);
}
pmix_node_stats_t* PMIx_Node_stats_create(std::size_t n) {
  return create<pmix_node_stats_t>(n);
}
void PMIx_Node_stats_free(pmix_node_stats_t* array, std::size_t n) {
  free_array(PMIX_NODE_STATS, array, n);
}

void PMIx_Pdata_construct(pmix_pdata_t* object) {
  construct(object);
}
void PMIx_Pdata_destruct(pmix_pdata_t* object) {
  destruct(PMIX_PDATA, object);
}
pmix_pdata_t* PMIx_Pdata_create(std::size_t n) {
  return create<pmix_pdata_t>(n);
}
void PMIx_Pdata_free(pmix_pdata_t* array, std::size_t n) {
  free_array(PMIX_PDATA, array, n);
}

void PMIx_App_construct(pmix_app_t* object) {
  construct(object);
}
void PMIx_App_destruct(pmix_app_t* object) {
  destruct(PMIX_APP, object);
}
pmix_app_t* PMIx_App_create(std::size_t n) {
  return create<pmix_app_t>(n);
}
void PMIx_App_free(pmix_app_t* array, std::size_t n) {
  free_array(PMIX_APP, array, n);
}

void PMIx_Query_construct(pmix_query_t* object) {
  construct(object);
}
void PMIx_Query_destruct(pmix_query_t* object) {
  destruct(PMIX_QUERY, object);
}
pmix_query_t* PMIx_Query_create(std::size_t n) {
  return create<pmix_query_t>(n);
}
void PMIx_Query_free(pmix_query_t* array, std::size_t n) {
  free_array(PMIX_QUERY, array, n);
}

void PMIx_Regattr_construct(pmix_regattr_t* object) {
  construct(object);
}
void PMIx_Regattr_destruct(pmix_regattr_t* object) {
  destruct(PMIX_REGATTR, object);
}
pmix_regattr_t* PMIx_Regattr_create(std::size_t n) {
  return create<pmix_regattr_t>(n);
}
void PMIx_Regattr_free(pmix_regattr_t* array, std::size_t n) {
  free_array(PMIX_REGATTR, array, n);
}

void PMIx_Regex2_construct(pmix_regex2_t* object) {
  construct(object);
}
void PMIx_Regex2_destruct(pmix_regex2_t* object) {
  destruct(PMIX_REGEX2, object);
}
pmix_regex2_t* PMIx_Regex2_create(std::size_t n) {
  return create<pmix_regex2_t>(n);
}
void PMIx_Regex2_free(pmix_regex2_t* array, std::size_t n) {
  free_array(PMIX_REGEX2, array, n);
}

// --- those with something of their own ---

/// An unknown distance is UINT16_MAX, not 0.
void PMIx_Device_distance_construct(pmix_device_distance_t* distance) {
  construct(distance);
  if (distance == nullptr) return;
  distance->mindist = UINT16_MAX;
  distance->maxdist = UINT16_MAX;
}
void PMIx_Device_distance_destruct(pmix_device_distance_t* distance) {
  destruct(PMIX_DEVICE_DIST, distance);
}
pmix_device_distance_t* PMIx_Device_distance_create(std::size_t n) {
  auto* array = create<pmix_device_distance_t>(n);
  for (std::size_t i = 0; array != nullptr && i < n; ++i) PMIx_Device_distance_construct(&array[i]);
  return array;
}
void PMIx_Device_distance_free(pmix_device_distance_t* array, std::size_t n) {
  free_array(PMIX_DEVICE_DIST, array, n);
}

void PMIx_Coord_construct(pmix_coord_t* coord) {
  construct(coord);
}
void PMIx_Coord_destruct(pmix_coord_t* coord) {
  destruct(PMIX_COORD, coord);
}
/// `n` coordinates of `dims` dimensions each; NULL if there is no memory for all of them.
pmix_coord_t* PMIx_Coord_create(std::size_t dims, std::size_t n) {
  auto* array = create<pmix_coord_t>(n);
  for (std::size_t i = 0; array != nullptr && dims != 0 && i < n; ++i) {
    array[i].coord = create<std::uint32_t>(dims);
    array[i].dims = dims;
    if (array[i].coord != nullptr) continue;
    free_array(PMIX_COORD, array, n);
    return nullptr;
  }
  return array;
}
void PMIx_Coord_free(pmix_coord_t* array, std::size_t n) {
  free_array(PMIX_COORD, array, n);
}

/// Takes over the bytes. Observed: so does the macro of 4.2.2.
void PMIx_Byte_object_load(pmix_byte_object_t* object, char* bytes, std::size_t size) {
  if (object != nullptr) *object = {bytes, size};
}

void PMIx_Envar_load(pmix_envar_t* envar, char* name, char* value, char separator) {
  if (envar != nullptr) *envar = {copy_or_null(name), copy_or_null(value), separator};
}

void PMIx_Fabric_construct(pmix_fabric_t* fabric) {
  construct(fabric);
}

void PMIx_Pdata_release(pmix_pdata_t* pdata) {
  PMIx_Pdata_free(pdata, 1);
}
/// Whatever fails leaves the value undefined: there is no status to say so.
void PMIx_Pdata_load(pmix_pdata_t* dest, const pmix_proc_t* proc, const char* key, const void* data,
                     pmix_data_type_t type) {
  construct(dest);
  if (dest == nullptr) return;
  PMIx_Xfer_procid(&dest->proc, proc);
  PMIx_Load_key(dest->key, key);
  PMIx_Value_load(&dest->value, data, type);
}
void PMIx_Pdata_xfer(pmix_pdata_t* dest, pmix_pdata_t* src) {
  construct(dest);
  if (dest == nullptr || src == nullptr) return;
  dest->proc = src->proc;
  PMIx_Load_key(dest->key, src->key);
  PMIx_Value_xfer(&dest->value, &src->value);
}

void PMIx_App_release(pmix_app_t* app) {
  PMIx_App_free(app, 1);
}
void PMIx_App_info_create(pmix_app_t* app, std::size_t n) {
  if (app == nullptr) return;
  app->info = PMIx_Info_create(n);
  app->ninfo = app->info == nullptr ? 0 : n;
}

void PMIx_Query_release(pmix_query_t* query) {
  PMIx_Query_free(query, 1);
}
void PMIx_Query_qualifiers_create(pmix_query_t* query, std::size_t n) {
  if (query == nullptr) return;
  query->qualifiers = PMIx_Info_create(n);
  query->nqual = query->qualifiers == nullptr ? 0 : n;
}

/// Into a constructed object; the description is one line, appended to those that are there.
void PMIx_Regattr_load(pmix_regattr_t* attr, const char* name, const char* key, pmix_data_type_t type,
                       const char* description) {
  if (attr == nullptr) return;
  attr->name = copy_or_null(name);
  PMIx_Load_key(attr->string, key);
  attr->type = type;
  if (description != nullptr) PMIx_Argv_append_nosize(&attr->description, description);
}
void PMIx_Regattr_xfer(pmix_regattr_t* dest, const pmix_regattr_t* src) {
  construct(dest);
  if (dest == nullptr || src == nullptr) return;
  PMIx_Regattr_load(dest, src->name, src->string, src->type, nullptr);
  dest->description = PMIx_Argv_copy(src->description);
}

// --- data arrays ---

void PMIx_Data_array_init(pmix_data_array_t* array, pmix_data_type_t type) {
  construct(array);
  if (array != nullptr) array->type = type;
}

/// Empty elements of that type; no elements for a type that no array can hold. Infos as PMIx_Info_create.
void PMIx_Data_array_construct(pmix_data_array_t* array, std::size_t n, pmix_data_type_t type) {
  PMIx_Data_array_init(array, type);
  const data::Type* known = data::find_type(type);
  if (array == nullptr || known == nullptr || known->width == 0 || n == 0) return;
  array->array = type == PMIX_INFO ? PMIx_Info_create(n) : data::new_elements(known->width, n);
  array->size = array->array == nullptr ? 0 : n;
}

void PMIx_Data_array_destruct(pmix_data_array_t* array) {
  destruct(PMIX_DATA_ARRAY, array);
}

pmix_data_array_t* PMIx_Data_array_create(std::size_t n, pmix_data_type_t type) {
  auto* array = create<pmix_data_array_t>(1);
  PMIx_Data_array_construct(array, n, type);
  return array;
}

void PMIx_Data_array_free(pmix_data_array_t* array) {
  free_array(PMIX_DATA_ARRAY, array, 1);
}

}  // extern "C"
