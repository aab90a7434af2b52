// SPDX-License-Identifier: BSD-3-Clause
// The table of types; long because there are many.
#include "core/data/types/types.hpp"

#include <sys/time.h>

#include <array>

#include "pmix_deprecated.h"

namespace weft::data {
namespace {

constexpr Field one(const char* name, pmix_data_type_t type, std::size_t at) {
  return {name, type, Role::one, static_cast<std::uint16_t>(at), 0};
}
constexpr Field list(const char* name, pmix_data_type_t type, std::size_t at, std::size_t count_at) {
  return {name, type, Role::list, static_cast<std::uint16_t>(at), static_cast<std::uint16_t>(count_at)};
}
constexpr Field strings(const char* name, std::size_t at) {
  return {name, PMIX_STRING, Role::strings, static_cast<std::uint16_t>(at), 0};
}
constexpr Field key(const char* name, std::size_t at) {
  return {name, PMIX_STRING, Role::key, static_cast<std::uint16_t>(at), 0};
}

constexpr Field proc_fields[] = {
    one("nspace", PMIX_PROC_NSPACE, offsetof(pmix_proc_t, nspace)),
    one("rank", PMIX_PROC_RANK, offsetof(pmix_proc_t, rank)),
};
constexpr Field app_fields[] = {
    one("cmd", PMIX_STRING, offsetof(pmix_app_t, cmd)),
    strings("argv", offsetof(pmix_app_t, argv)),
    strings("env", offsetof(pmix_app_t, env)),
    one("cwd", PMIX_STRING, offsetof(pmix_app_t, cwd)),
    one("maxprocs", PMIX_INT, offsetof(pmix_app_t, maxprocs)),
    list("info", PMIX_INFO, offsetof(pmix_app_t, info), offsetof(pmix_app_t, ninfo)),
};
constexpr Field info_fields[] = {
    key("key", offsetof(pmix_info_t, key)),
    one("flags", PMIX_INFO_DIRECTIVES, offsetof(pmix_info_t, flags)),
    one("value", PMIX_VALUE, offsetof(pmix_info_t, value)),
};
constexpr Field pdata_fields[] = {
    one("proc", PMIX_PROC, offsetof(pmix_pdata_t, proc)),
    key("key", offsetof(pmix_pdata_t, key)),
    one("value", PMIX_VALUE, offsetof(pmix_pdata_t, value)),
};
/// The element of PMIX_KVAL, whose shape no header says: programs make arrays of it, and end them.
struct KeyValue {
  char* key;
  pmix_value_t value;
};
constexpr Field key_value_fields[] = {
    one("key", PMIX_STRING, offsetof(KeyValue, key)),
    one("value", PMIX_VALUE, offsetof(KeyValue, value)),
};
constexpr Field proc_info_fields[] = {
    one("proc", PMIX_PROC, offsetof(pmix_proc_info_t, proc)),
    one("hostname", PMIX_STRING, offsetof(pmix_proc_info_t, hostname)),
    one("executable_name", PMIX_STRING, offsetof(pmix_proc_info_t, executable_name)),
    one("pid", PMIX_PID, offsetof(pmix_proc_info_t, pid)),
    one("exit_code", PMIX_INT, offsetof(pmix_proc_info_t, exit_code)),
    one("state", PMIX_PROC_STATE, offsetof(pmix_proc_info_t, state)),
};
constexpr Field query_fields[] = {
    strings("keys", offsetof(pmix_query_t, keys)),
    list("qualifiers", PMIX_INFO, offsetof(pmix_query_t, qualifiers), offsetof(pmix_query_t, nqual)),
};
constexpr Field envar_fields[] = {
    one("envar", PMIX_STRING, offsetof(pmix_envar_t, envar)),
    one("value", PMIX_STRING, offsetof(pmix_envar_t, value)),
    one("separator", PMIX_BYTE, offsetof(pmix_envar_t, separator)),
};
constexpr Field coord_fields[] = {
    one("view", PMIX_UINT8, offsetof(pmix_coord_t, view)),
    list("coord", PMIX_UINT32, offsetof(pmix_coord_t, coord), offsetof(pmix_coord_t, dims)),
};
constexpr Field regattr_fields[] = {
    one("name", PMIX_STRING, offsetof(pmix_regattr_t, name)),
    key("string", offsetof(pmix_regattr_t, string)),
    one("type", PMIX_DATA_TYPE, offsetof(pmix_regattr_t, type)),
    strings("description", offsetof(pmix_regattr_t, description)),
};
constexpr Field geometry_fields[] = {
    one("fabric", PMIX_SIZE, offsetof(pmix_geometry_t, fabric)),
    one("uuid", PMIX_STRING, offsetof(pmix_geometry_t, uuid)),
    one("osname", PMIX_STRING, offsetof(pmix_geometry_t, osname)),
    list("coordinates", PMIX_COORD, offsetof(pmix_geometry_t, coordinates),
         offsetof(pmix_geometry_t, ncoords)),
};
constexpr Field distance_fields[] = {
    one("uuid", PMIX_STRING, offsetof(pmix_device_distance_t, uuid)),
    one("osname", PMIX_STRING, offsetof(pmix_device_distance_t, osname)),
    one("type", PMIX_DEVTYPE, offsetof(pmix_device_distance_t, type)),
    one("mindist", PMIX_UINT16, offsetof(pmix_device_distance_t, mindist)),
    one("maxdist", PMIX_UINT16, offsetof(pmix_device_distance_t, maxdist)),
};
constexpr Field endpoint_fields[] = {
    one("uuid", PMIX_STRING, offsetof(pmix_endpoint_t, uuid)),
    one("osname", PMIX_STRING, offsetof(pmix_endpoint_t, osname)),
    one("endpt", PMIX_BYTE_OBJECT, offsetof(pmix_endpoint_t, endpt)),
};
constexpr Field proc_stats_fields[] = {
    one("node", PMIX_STRING, offsetof(pmix_proc_stats_t, node)),
    one("proc", PMIX_PROC, offsetof(pmix_proc_stats_t, proc)),
    one("pid", PMIX_PID, offsetof(pmix_proc_stats_t, pid)),
    one("cmd", PMIX_STRING, offsetof(pmix_proc_stats_t, cmd)),
    one("state", PMIX_BYTE, offsetof(pmix_proc_stats_t, state)),
    one("time", PMIX_TIMEVAL, offsetof(pmix_proc_stats_t, time)),
    one("percent_cpu", PMIX_FLOAT, offsetof(pmix_proc_stats_t, percent_cpu)),
    one("priority", PMIX_INT32, offsetof(pmix_proc_stats_t, priority)),
    one("num_threads", PMIX_UINT16, offsetof(pmix_proc_stats_t, num_threads)),
    one("pss", PMIX_FLOAT, offsetof(pmix_proc_stats_t, pss)),
    one("vsize", PMIX_FLOAT, offsetof(pmix_proc_stats_t, vsize)),
    one("rss", PMIX_FLOAT, offsetof(pmix_proc_stats_t, rss)),
    one("peak_vsize", PMIX_FLOAT, offsetof(pmix_proc_stats_t, peak_vsize)),
    one("processor", PMIX_UINT16, offsetof(pmix_proc_stats_t, processor)),
    one("sample_time", PMIX_TIMEVAL, offsetof(pmix_proc_stats_t, sample_time)),
};
constexpr Field disk_stats_fields[] = {
    one("disk", PMIX_STRING, offsetof(pmix_disk_stats_t, disk)),
    one("num_reads_completed", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_reads_completed)),
    one("num_reads_merged", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_reads_merged)),
    one("num_sectors_read", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_sectors_read)),
    one("milliseconds_reading", PMIX_UINT64, offsetof(pmix_disk_stats_t, milliseconds_reading)),
    one("num_writes_completed", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_writes_completed)),
    one("num_writes_merged", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_writes_merged)),
    one("num_sectors_written", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_sectors_written)),
    one("milliseconds_writing", PMIX_UINT64, offsetof(pmix_disk_stats_t, milliseconds_writing)),
    one("num_ios_in_progress", PMIX_UINT64, offsetof(pmix_disk_stats_t, num_ios_in_progress)),
    one("milliseconds_io", PMIX_UINT64, offsetof(pmix_disk_stats_t, milliseconds_io)),
    one("weighted_milliseconds_io", PMIX_UINT64, offsetof(pmix_disk_stats_t, weighted_milliseconds_io)),
};
constexpr Field net_stats_fields[] = {
    one("net_interface", PMIX_STRING, offsetof(pmix_net_stats_t, net_interface)),
    one("num_bytes_recvd", PMIX_UINT64, offsetof(pmix_net_stats_t, num_bytes_recvd)),
    one("num_packets_recvd", PMIX_UINT64, offsetof(pmix_net_stats_t, num_packets_recvd)),
    one("num_recv_errs", PMIX_UINT64, offsetof(pmix_net_stats_t, num_recv_errs)),
    one("num_bytes_sent", PMIX_UINT64, offsetof(pmix_net_stats_t, num_bytes_sent)),
    one("num_packets_sent", PMIX_UINT64, offsetof(pmix_net_stats_t, num_packets_sent)),
    one("num_send_errs", PMIX_UINT64, offsetof(pmix_net_stats_t, num_send_errs)),
};
constexpr Field node_stats_fields[] = {
    one("node", PMIX_STRING, offsetof(pmix_node_stats_t, node)),
    one("la", PMIX_FLOAT, offsetof(pmix_node_stats_t, la)),
    one("la5", PMIX_FLOAT, offsetof(pmix_node_stats_t, la5)),
    one("la15", PMIX_FLOAT, offsetof(pmix_node_stats_t, la15)),
    one("total_mem", PMIX_FLOAT, offsetof(pmix_node_stats_t, total_mem)),
    one("free_mem", PMIX_FLOAT, offsetof(pmix_node_stats_t, free_mem)),
    one("buffers", PMIX_FLOAT, offsetof(pmix_node_stats_t, buffers)),
    one("cached", PMIX_FLOAT, offsetof(pmix_node_stats_t, cached)),
    one("swap_cached", PMIX_FLOAT, offsetof(pmix_node_stats_t, swap_cached)),
    one("swap_total", PMIX_FLOAT, offsetof(pmix_node_stats_t, swap_total)),
    one("swap_free", PMIX_FLOAT, offsetof(pmix_node_stats_t, swap_free)),
    one("mapped", PMIX_FLOAT, offsetof(pmix_node_stats_t, mapped)),
    one("sample_time", PMIX_TIMEVAL, offsetof(pmix_node_stats_t, sample_time)),
    list("diskstats", PMIX_DISK_STATS, offsetof(pmix_node_stats_t, diskstats),
         offsetof(pmix_node_stats_t, ndiskstats)),
    list("netstats", PMIX_NET_STATS, offsetof(pmix_node_stats_t, netstats),
         offsetof(pmix_node_stats_t, nnetstats)),
};
constexpr Field device_fields[] = {
    one("uuid", PMIX_STRING, offsetof(pmix_device_t, uuid)),
    one("osname", PMIX_STRING, offsetof(pmix_device_t, osname)),
    one("type", PMIX_DEVTYPE, offsetof(pmix_device_t, type)),
};
constexpr Field resource_unit_fields[] = {
    one("type", PMIX_DEVTYPE, offsetof(pmix_resource_unit_t, type)),
    one("count", PMIX_SIZE, offsetof(pmix_resource_unit_t, count)),
};
constexpr Field node_pid_fields[] = {
    one("hostname", PMIX_STRING, offsetof(pmix_node_pid_t, hostname)),
    one("nodeid", PMIX_UINT32, offsetof(pmix_node_pid_t, nodeid)),
    one("pid", PMIX_PID, offsetof(pmix_node_pid_t, pid)),
};
// {bytes, len} lies in memory as a byte object does, so it travels as one.
static_assert(offsetof(pmix_regex2_t, len) - offsetof(pmix_regex2_t, bytes) ==
              offsetof(pmix_byte_object_t, size));
constexpr Field regex2_fields[] = {
    one("type", PMIX_STRING, offsetof(pmix_regex2_t, type)),
    one("bytes", PMIX_BYTE_OBJECT, offsetof(pmix_regex2_t, bytes)),
};

constexpr Type plain(const char* name, Shape shape, std::size_t width) {
  return {name, shape, Place::inside, static_cast<std::uint16_t>(width), 0, {}};
}
constexpr Type held(const char* name, Shape shape, std::size_t width) {
  return {name, shape, Place::pointer, static_cast<std::uint16_t>(width), 0, {}};
}
constexpr Type record(const char* name, std::size_t width, std::span<const Field> fields,
                      Place place = Place::pointer) {
  return {name, Shape::record, place, static_cast<std::uint16_t>(width), 0, fields};
}

constexpr std::size_t table_size = 76;
using Table = std::array<Type, table_size>;

constexpr void fill_plain(Table& t) {
  t[PMIX_UNDEF] = plain("PMIX_UNDEF", Shape::none, 0);
  t[PMIX_BOOL] = plain("PMIX_BOOL", Shape::boolean, sizeof(bool));
  t[PMIX_BYTE] = plain("PMIX_BYTE", Shape::natural, 1);
  t[PMIX_SIZE] = plain("PMIX_SIZE", Shape::natural, sizeof(std::size_t));
  t[PMIX_PID] = plain("PMIX_PID", Shape::integer, sizeof(pid_t));
  t[PMIX_INT] = plain("PMIX_INT", Shape::integer, sizeof(int));
  t[PMIX_INT8] = plain("PMIX_INT8", Shape::integer, 1);
  t[PMIX_INT16] = plain("PMIX_INT16", Shape::integer, 2);
  t[PMIX_INT32] = plain("PMIX_INT32", Shape::integer, 4);
  t[PMIX_INT64] = plain("PMIX_INT64", Shape::integer, 8);
  t[PMIX_UINT] = plain("PMIX_UINT", Shape::natural, sizeof(unsigned));
  t[PMIX_UINT8] = plain("PMIX_UINT8", Shape::natural, 1);
  t[PMIX_UINT16] = plain("PMIX_UINT16", Shape::natural, 2);
  t[PMIX_UINT32] = plain("PMIX_UINT32", Shape::natural, 4);
  t[PMIX_UINT64] = plain("PMIX_UINT64", Shape::natural, 8);
  t[PMIX_FLOAT] = plain("PMIX_FLOAT", Shape::real, sizeof(float));
  t[PMIX_DOUBLE] = plain("PMIX_DOUBLE", Shape::real, sizeof(double));
  t[PMIX_TIMEVAL] = plain("PMIX_TIMEVAL", Shape::timeval, sizeof(timeval));
  t[PMIX_TIME] = plain("PMIX_TIME", Shape::integer, sizeof(time_t));
  t[PMIX_STATUS] = plain("PMIX_STATUS", Shape::integer, sizeof(pmix_status_t));
  t[PMIX_PERSIST] = plain("PMIX_PERSIST", Shape::natural, sizeof(pmix_persistence_t));
  // An address means something in its own process only; it is encoded so that a store may keep it there.
  t[PMIX_POINTER] = plain("PMIX_POINTER", Shape::pointer, sizeof(void*));
  t[PMIX_SCOPE] = plain("PMIX_SCOPE", Shape::natural, sizeof(pmix_scope_t));
  t[PMIX_DATA_RANGE] = plain("PMIX_DATA_RANGE", Shape::natural, sizeof(pmix_data_range_t));
  t[PMIX_COMMAND] = plain("PMIX_COMMAND", Shape::natural, 1);
  t[PMIX_INFO_DIRECTIVES] = plain("PMIX_INFO_DIRECTIVES", Shape::natural, sizeof(pmix_info_directives_t));
  t[PMIX_DATA_TYPE] = plain("PMIX_DATA_TYPE", Shape::natural, sizeof(pmix_data_type_t));
  t[PMIX_PROC_STATE] = plain("PMIX_PROC_STATE", Shape::natural, sizeof(pmix_proc_state_t));
  t[PMIX_PROC_RANK] = plain("PMIX_PROC_RANK", Shape::natural, sizeof(pmix_rank_t));
  t[PMIX_ALLOC_DIRECTIVE] = plain("PMIX_ALLOC_DIRECTIVE", Shape::natural, sizeof(pmix_alloc_directive_t));
  t[PMIX_IOF_CHANNEL] = plain("PMIX_IOF_CHANNEL", Shape::natural, sizeof(pmix_iof_channel_t));
  t[PMIX_JOB_STATE] = plain("PMIX_JOB_STATE", Shape::natural, sizeof(pmix_job_state_t));
  t[PMIX_LINK_STATE] = plain("PMIX_LINK_STATE", Shape::natural, sizeof(pmix_link_state_t));
  t[PMIX_DEVTYPE] = plain("PMIX_DEVTYPE", Shape::natural, sizeof(pmix_device_type_t));
  t[PMIX_LOCTYPE] = plain("PMIX_LOCTYPE", Shape::natural, sizeof(pmix_locality_t));
  t[PMIX_STOR_MEDIUM] = plain("PMIX_STOR_MEDIUM", Shape::natural, sizeof(pmix_storage_medium_t));
  t[PMIX_STOR_ACCESS] = plain("PMIX_STOR_ACCESS", Shape::natural, sizeof(pmix_storage_accessibility_t));
  t[PMIX_STOR_PERSIST] = plain("PMIX_STOR_PERSIST", Shape::natural, sizeof(pmix_storage_persistence_t));
  t[PMIX_STOR_ACCESS_TYPE] =
      plain("PMIX_STOR_ACCESS_TYPE", Shape::natural, sizeof(pmix_storage_access_type_t));
  t[PMIX_RESBLOCK_DIRECTIVE] =
      plain("PMIX_RESBLOCK_DIRECTIVE", Shape::natural, sizeof(pmix_resource_block_directive_t));
  t[PMIX_ALLOC_INHERIT] = plain("PMIX_ALLOC_INHERIT", Shape::natural, sizeof(pmix_alloc_inheritance_t));
}

constexpr void fill_owning(Table& t) {
  t[PMIX_STRING] = plain("PMIX_STRING", Shape::text, sizeof(char*));
  // In values and arrays; where a regular expression is packed or copied alone, C callers pass a char*.
  t[PMIX_REGEX] = plain("PMIX_REGEX", Shape::blob, sizeof(pmix_byte_object_t));
  t[PMIX_BYTE_OBJECT] = plain("PMIX_BYTE_OBJECT", Shape::blob, sizeof(pmix_byte_object_t));
  t[PMIX_COMPRESSED_STRING] = plain("PMIX_COMPRESSED_STRING", Shape::blob, sizeof(pmix_byte_object_t));
  t[PMIX_COMPRESSED_BYTE_OBJECT] =
      plain("PMIX_COMPRESSED_BYTE_OBJECT", Shape::blob, sizeof(pmix_byte_object_t));
  t[PMIX_PROC_NSPACE] = held("PMIX_PROC_NSPACE", Shape::name, sizeof(pmix_nspace_t));
  t[PMIX_VALUE] = held("PMIX_VALUE", Shape::value, sizeof(pmix_value_t));
  t[PMIX_DATA_ARRAY] = held("PMIX_DATA_ARRAY", Shape::array, sizeof(pmix_data_array_t));
  t[PMIX_DATA_BUFFER] = held("PMIX_DATA_BUFFER", Shape::buffer, sizeof(pmix_data_buffer_t));
  // The name of an older release for the buffer of a library, which had no public shape.
  t[PMIX_BUFFER] = held("PMIX_BUFFER", Shape::buffer, sizeof(pmix_data_buffer_t));
  t[PMIX_TOPO] = held("PMIX_TOPO", Shape::topology, sizeof(pmix_topology_t));
  t[PMIX_PROC_CPUSET] = held("PMIX_PROC_CPUSET", Shape::cpuset, sizeof(pmix_cpuset_t));

  t[PMIX_PROC] = record("PMIX_PROC", sizeof(pmix_proc_t), proc_fields);
  t[PMIX_APP] = record("PMIX_APP", sizeof(pmix_app_t), app_fields);
  t[PMIX_INFO] = record("PMIX_INFO", sizeof(pmix_info_t), info_fields);
  t[PMIX_INFO].shape = Shape::info;
  t[PMIX_PDATA] = record("PMIX_PDATA", sizeof(pmix_pdata_t), pdata_fields);
  t[PMIX_KVAL] = record("PMIX_KVAL", sizeof(KeyValue), key_value_fields);
  t[PMIX_PROC_INFO] = record("PMIX_PROC_INFO", sizeof(pmix_proc_info_t), proc_info_fields);
  t[PMIX_QUERY] = record("PMIX_QUERY", sizeof(pmix_query_t), query_fields);
  t[PMIX_ENVAR] = record("PMIX_ENVAR", sizeof(pmix_envar_t), envar_fields, Place::inside);
  t[PMIX_COORD] = record("PMIX_COORD", sizeof(pmix_coord_t), coord_fields);
  t[PMIX_REGATTR] = record("PMIX_REGATTR", sizeof(pmix_regattr_t), regattr_fields);
  t[PMIX_GEOMETRY] = record("PMIX_GEOMETRY", sizeof(pmix_geometry_t), geometry_fields);
  t[PMIX_DEVICE_DIST] = record("PMIX_DEVICE_DIST", sizeof(pmix_device_distance_t), distance_fields);
  t[PMIX_ENDPOINT] = record("PMIX_ENDPOINT", sizeof(pmix_endpoint_t), endpoint_fields);
  t[PMIX_PROC_STATS] = record("PMIX_PROC_STATS", sizeof(pmix_proc_stats_t), proc_stats_fields);
  t[PMIX_DISK_STATS] = record("PMIX_DISK_STATS", sizeof(pmix_disk_stats_t), disk_stats_fields);
  t[PMIX_NET_STATS] = record("PMIX_NET_STATS", sizeof(pmix_net_stats_t), net_stats_fields);
  t[PMIX_NODE_STATS] = record("PMIX_NODE_STATS", sizeof(pmix_node_stats_t), node_stats_fields);
  t[PMIX_DEVICE] = record("PMIX_DEVICE", sizeof(pmix_device_t), device_fields);
  t[PMIX_RESOURCE_UNIT] = record("PMIX_RESOURCE_UNIT", sizeof(pmix_resource_unit_t), resource_unit_fields);
  t[PMIX_NODE_PID] = record("PMIX_NODE_PID", sizeof(pmix_node_pid_t), node_pid_fields);
  t[PMIX_REGEX2] = record("PMIX_REGEX2", sizeof(pmix_regex2_t), regex2_fields);
}

constexpr std::uint16_t min_wire(const Table& t, const Type& type) {
  switch (type.shape) {
    case Shape::boolean:
    case Shape::natural:
    case Shape::pointer:
    case Shape::integer:
    case Shape::real:
    case Shape::timeval:
      return type.width;
    case Shape::none:
      return 0;
    case Shape::text:
    case Shape::name:
    case Shape::blob:
    case Shape::buffer:
      return 4;
    case Shape::value:
      return 2;
    case Shape::array:
      return 6;
    case Shape::topology:
    case Shape::cpuset:
      return 8;
    case Shape::record:
    case Shape::info:
      break;
  }
  std::uint16_t sum = 0;
  for (const Field& f : type.fields) sum += f.role == Role::one ? t[f.type].min_wire : 4;
  return sum;
}

constexpr Table make_table() {
  Table t{};
  fill_plain(t);
  fill_owning(t);
  // Records hold records two deep (pdata: proc: rank), so what the third pass adds up is final.
  for (int pass = 0; pass < 3; ++pass) {
    for (Type& type : t) {
      if (type.name != nullptr) type.min_wire = min_wire(t, type);
    }
  }
  return t;
}

constexpr Table table = make_table();

/// The decoder allocates before it reads elements: one byte received must never become more than 64.
constexpr bool amplification_is_bounded() {
  for (const Type& type : table) {
    if (type.width > 64 * type.min_wire) return false;
  }
  return true;
}
static_assert(amplification_is_bounded());

}  // namespace

const Type* find_type(pmix_data_type_t type) noexcept {
  return type < table_size && table[type].name != nullptr ? &table[type] : nullptr;
}

}  // namespace weft::data
