// SPDX-License-Identifier: BSD-3-Clause
//
// Every family of macros and inline functions of the headers, used the way programs use them, results
// checked. Compiled as strict C11 and, by macros.cpp, as C++; linked to the library for the calls the macros
// make. Uses only what 4.2.2 exports, so that the same executable runs on a libpmix 4.2.2 as well.
#include <pmix.h>
#include <pmix_deprecated.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <stdio.h>
#include <stdlib.h>

static int failures;

#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                             \
    }                                                                         \
  } while (0)

// The n bytes at p are all zero.
static bool zeroed(const void* p, size_t n) {
  const unsigned char* bytes = (const unsigned char*)p;
  for (size_t i = 0; i < n; ++i) {
    if (0 != bytes[i]) {
      return false;
    }
  }
  return true;
}

static char* copy(const char* text) {
  return weft_strdup(text);
}

/* ---- Strings, environments ---- */

static void strings(void) {
  char small[8];
  memset(small, '#', sizeof(small));
  pmix_strncpy(small, "abcdef", 3);
  CHECK(0 == strcmp(small, "abc") && '#' == small[4]);
  CHECK(0 == pmix_keylen(NULL) && 3 == pmix_nslen("abc"));

  char huge[1000];
  memset(huge, 'x', sizeof(huge) - 1);
  huge[sizeof(huge) - 1] = '\0';
  CHECK(PMIX_MAX_KEYLEN + 1 == pmix_keylen(huge) && PMIX_MAX_NSLEN + 1 == pmix_nslen(huge));

  void* block = pmix_malloc(8);
  CHECK(NULL != block);
  pmix_free(block);
  block = pmix_calloc(2, 8);
  CHECK(NULL != block && zeroed(block, 16));
  pmix_free(block);
}

static void argv_arrays(void) {
  pmix_status_t status = PMIX_ERROR;
  char **list = NULL, **second = NULL;
  char* joined = NULL;
  int count = -1;

  CHECK(0 == pmix_argv_count(NULL) && NULL == pmix_argv_copy(NULL) && NULL == pmix_argv_split("", ','));
  PMIX_ARGV_APPEND(status, list, "b");
  CHECK(PMIX_SUCCESS == status);
  PMIX_ARGV_APPEND(status, list, "c");
  PMIX_ARGV_PREPEND(status, list, "a");
  PMIX_ARGV_APPEND_UNIQUE(status, &list, "c");
  PMIX_ARGV_COUNT(count, list);
  CHECK(PMIX_SUCCESS == status && 3 == count);
  PMIX_ARGV_JOIN(joined, list, ':');
  CHECK(0 == strcmp(joined, "a:b:c"));
  PMIX_ARGV_COPY(second, list);
  CHECK(second != list && 0 == strcmp(second[2], "c") && NULL == second[3]);
  PMIX_ARGV_FREE(list);
  PMIX_ARGV_FREE(second);
  PMIX_ARGV_SPLIT(list, ",x,,y,", ',');
  CHECK(2 == pmix_argv_count(list) && 0 == strcmp(list[1], "y"));
  PMIX_ARGV_FREE(list);
  list = pmix_argv_split_with_empty(",x,,y,", ',');  // no empty string after the last delimiter
  CHECK(4 == pmix_argv_count(list) && '\0' == *list[0] && '\0' == *list[2]);
  pmix_argv_free(list);
  free(joined);
  joined = pmix_argv_join(NULL, ',');
  CHECK('\0' == *joined);
  free(joined);
}

static void environments(void) {
  extern char** environ;
  char** env = NULL;
  pmix_status_t status = PMIX_ERROR;
  PMIX_SETENV(status, "WEFT_A", "1", &env);
  CHECK(PMIX_SUCCESS == status && 0 == strcmp(env[0], "WEFT_A=1"));
  CHECK(PMIX_ERR_EXISTS == pmix_setenv("WEFT_A", "2", false, &env));
  PMIX_SETENV(status, "WEFT_A", "3", &env);
  CHECK(PMIX_SUCCESS == status && 0 == strcmp(env[0], "WEFT_A=3") && NULL == env[1]);
  CHECK(PMIX_SUCCESS == pmix_setenv("WEFT_AB", NULL, true, &env) && 0 == strcmp(env[1], "WEFT_AB="));
  PMIX_ARGV_FREE(env);

  PMIX_SETENV(status, "WEFT_TESTS_ABI", "here", &environ);
  CHECK(PMIX_SUCCESS == status && NULL != getenv("WEFT_TESTS_ABI"));
  CHECK(PMIX_SUCCESS == pmix_setenv("WEFT_TESTS_ABI", NULL, true, &environ) &&
        NULL == getenv("WEFT_TESTS_ABI"));
}

/* ---- Names and processes ---- */

static void names(void) {
  pmix_key_t key;
  pmix_nspace_t nspace;
  pmix_proc_t a, b;
  pmix_info_t info = PMIX_INFO_STATIC_INIT;

  memset(key, '#', sizeof(key));
  PMIX_LOAD_KEY(key, "pmix.x");
  CHECK(0 == strcmp(key, "pmix.x") && zeroed(key + 6, sizeof(key) - 6));
  CHECK(PMIX_CHECK_RESERVED_KEY(key) && !PMIX_CHECK_RESERVED_KEY("user.key"));
  PMIX_LOAD_KEY(info.key, "k");
  CHECK(PMIX_CHECK_KEY(&info, "k") && !PMIX_CHECK_KEY(&info, "kk"));

  PMIX_LOAD_NSPACE(nspace, "job");
  CHECK(PMIX_CHECK_NSPACE(nspace, "job") && PMIX_CHECK_NSPACE(nspace, "") &&
        !PMIX_CHECK_NSPACE(nspace, "jobs"));
  PMIX_LOAD_NSPACE(nspace, NULL);
  CHECK(PMIX_NSPACE_INVALID(nspace) && zeroed(nspace, sizeof(nspace)));

  PMIX_LOAD_PROCID(&a, "job", 3);
  PMIX_PROC_LOAD(&b, "job", 4);
  CHECK(!PMIX_CHECK_PROCID(&a, &b) && !PMIX_PROCID_INVALID(&a));
  b.rank = PMIX_RANK_WILDCARD;
  CHECK(PMIX_CHECK_PROCID(&a, &b) && PMIX_CHECK_RANK(b.rank, 9));
  PMIX_PROCID_XFER(&b, &a);
  CHECK(3 == b.rank && 0 == strcmp(b.nspace, "job"));
  a.rank = PMIX_RANK_INVALID;
  CHECK(PMIX_PROCID_INVALID(&a) && PMIX_RANK_IS_VALID(0) && !PMIX_RANK_IS_VALID(PMIX_RANK_UNDEF));
  PMIX_XFER_PROCID(&a, &b);
  CHECK(3 == a.rank);

  pmix_nspace_t joined, cluster, job;
  PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(joined, "north", "job7");
  CHECK(0 == strcmp(joined, "north:job7"));
  PMIX_MULTICLUSTER_NSPACE_PARSE(joined, cluster, job);
  CHECK(0 == strcmp(cluster, "north") && 0 == strcmp(job, "job7"));

  CHECK(PMIX_SYSTEM_EVENT(PMIX_EVENT_NODE_DOWN) && !PMIX_SYSTEM_EVENT(PMIX_EVENT_JOB_END));
  CHECK(PMIX_SYSTEM_EVENT(PMIX_EVENT_SYS_OTHER) && !PMIX_SYSTEM_EVENT(PMIX_EVENT_NO_ACTION_TAKEN));

  pmix_proc_t* procs = NULL;
  PMIX_PROC_CREATE(procs, 2);
  CHECK(zeroed(procs, 2 * sizeof(*procs)));
  PMIX_PROC_CONSTRUCT(&procs[0]);
  PMIX_PROC_DESTRUCT(&procs[0]);
  PMIX_PROC_FREE(procs, 2);
  CHECK(NULL == procs);
  PMIX_PROC_CREATE(procs, 1);
  PMIX_PROC_RELEASE(procs);
  CHECK(NULL == procs);
}

/* ---- Objects ----
 * The life of an object that holds nothing but strings and numbers: construct, fill, destruct, create, free.
 */
#define LIFE(TYPE, NAME, FILL)       \
  do {                               \
    TYPE one, *many = NULL;          \
    memset(&one, 0xa5, sizeof(one)); \
    NAME##_CONSTRUCT(&one);          \
    FILL;                            \
    NAME##_DESTRUCT(&one);           \
    NAME##_CREATE(many, 3);          \
    CHECK(NULL != many);             \
    NAME##_FREE(many, 3);            \
    CHECK(NULL == many);             \
  } while (0)

static void plain_objects(void) {
  LIFE(pmix_byte_object_t, PMIX_BYTE_OBJECT, one.bytes = copy("x"));
  LIFE(pmix_envar_t, PMIX_ENVAR, PMIX_ENVAR_LOAD(&one, "PATH", "/bin", ':'); CHECK(':' == one.separator));
  LIFE(pmix_geometry_t, PMIX_GEOMETRY, one.uuid = copy("u"); one.ncoords = 2;
       PMIX_COORD_CREATE(one.coordinates, 2, 3); CHECK(3 == one.coordinates[1].dims));
  LIFE(pmix_device_distance_t, PMIX_DEVICE_DIST,
       CHECK(UINT16_MAX == one.mindist && UINT16_MAX == one.maxdist);
       one.osname = copy("eth0"));
  LIFE(pmix_device_t, PMIX_DEVICE, one.osname = copy("eth0"));
  LIFE(pmix_resource_unit_t, PMIX_RESOURCE_UNIT, one.count = 1);
  LIFE(pmix_endpoint_t, PMIX_ENDPOINT, one.uuid = copy("u"); one.endpt.bytes = copy("e"));
  LIFE(pmix_proc_info_t, PMIX_PROC_INFO, one.hostname = copy("h"); one.executable_name = copy("e"));
  LIFE(pmix_proc_stats_t, PMIX_PROC_STATS, one.node = copy("n"); one.cmd = copy("c"));
  LIFE(pmix_disk_stats_t, PMIX_DISK_STATS, one.disk = copy("d"));
  LIFE(pmix_net_stats_t, PMIX_NET_STATS, one.net_interface = copy("n"));
  LIFE(pmix_node_stats_t, PMIX_NODE_STATS, one.node = copy("n"); one.ndiskstats = 2;
       PMIX_DISK_STATS_CREATE(one.diskstats, 2); one.diskstats[1].disk = copy("d"));
  LIFE(pmix_cpuset_t, PMIX_CPUSET, (void)one);
  LIFE(pmix_topology_t, PMIX_TOPOLOGY, (void)one);

  pmix_coord_t coord;
  PMIX_COORD_CONSTRUCT(&coord);
  coord.coord = (uint32_t*)pmix_calloc(2, sizeof(uint32_t));
  PMIX_COORD_DESTRUCT(&coord);
  CHECK(NULL == coord.coord && 0 == coord.dims);
  pmix_coord_t* coords = NULL;
  PMIX_COORD_CREATE(coords, 2, 4);
  CHECK(4 == coords[1].dims && 0 == coords[1].coord[3]);
  PMIX_COORD_FREE(coords, 2);

  pmix_fabric_t fabric;
  memset(&fabric, 0xa5, sizeof(fabric));
  PMIX_FABRIC_CONSTRUCT(&fabric);
  CHECK(zeroed(&fabric, sizeof(fabric)));
}

// The *_RELEASE macros, and the inlines that leave the array to the caller.
static void released_objects(void) {
#define RELEASE(TYPE, NAME) \
  do {                      \
    TYPE* one = NULL;       \
    NAME##_CREATE(one, 1);  \
    NAME##_RELEASE(one);    \
    CHECK(NULL == one);     \
  } while (0)
  RELEASE(pmix_proc_info_t, PMIX_PROC_INFO);
  RELEASE(pmix_proc_stats_t, PMIX_PROC_STATS);
  RELEASE(pmix_disk_stats_t, PMIX_DISK_STATS);
  RELEASE(pmix_net_stats_t, PMIX_NET_STATS);
  RELEASE(pmix_node_stats_t, PMIX_NODE_STATS);
  RELEASE(pmix_value_t, PMIX_VALUE);
  RELEASE(pmix_pdata_t, PMIX_PDATA);
  RELEASE(pmix_app_t, PMIX_APP);
  RELEASE(pmix_query_t, PMIX_QUERY);
#undef RELEASE

  pmix_proc_stats_t proc = PMIX_PROC_STATS_STATIC_INIT;
  pmix_disk_stats_t disk = PMIX_DISK_STATS_STATIC_INIT;
  pmix_net_stats_t net = PMIX_NET_STATS_STATIC_INIT;
  pmix_node_stats_t node = PMIX_NODE_STATS_STATIC_INIT;
  pmix_app_t app = PMIX_APP_STATIC_INIT;
  pmix_pdata_t pdata = PMIX_LOOKUP_STATIC_INIT;
  proc.cmd = copy("c");
  disk.disk = copy("d");
  net.net_interface = copy("n");
  node.node = copy("n");
  app.cmd = copy("c");
  PMIX_VALUE_LOAD(&pdata.value, "v", PMIX_STRING);
  pmix_proc_stats_free(&proc, 1);
  pmix_disk_stats_free(&disk, 1);
  pmix_net_stats_free(&net, 1);
  pmix_node_stats_free(&node, 1);
  pmix_app_free(&app, 1);
  pmix_pdata_free(&pdata, 1);
  CHECK(NULL == proc.cmd && NULL == disk.disk && NULL == net.net_interface && NULL == node.node &&
        NULL == app.cmd);
}

static void static_initializers(void) {
  pmix_coord_t coord = PMIX_COORD_STATIC_INIT;
  pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT;
  pmix_topology_t topology = PMIX_TOPOLOGY_STATIC_INIT;
  pmix_geometry_t geometry = PMIX_GEOMETRY_STATIC_INIT;
  pmix_device_distance_t distance = PMIX_DEVICE_DIST_STATIC_INIT;
  pmix_byte_object_t bytes = PMIX_BYTE_OBJECT_STATIC_INIT;
  pmix_endpoint_t endpoint = PMIX_ENDPOINT_STATIC_INIT;
  pmix_envar_t envar = PMIX_ENVAR_STATIC_INIT;
  pmix_proc_t proc = PMIX_PROC_STATIC_INIT;
  pmix_proc_info_t proc_info = PMIX_PROC_INFO_STATIC_INIT;
  pmix_data_array_t array = PMIX_DATA_ARRAY_STATIC_INIT;
  pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
  pmix_value_t value = PMIX_VALUE_STATIC_INIT;
  pmix_info_t info = PMIX_INFO_STATIC_INIT;
  pmix_query_t query = PMIX_QUERY_STATIC_INIT;
  pmix_regattr_t attribute = PMIX_REGATTR_STATIC_INIT;
  pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
  pmix_device_t device = PMIX_DEVICE_STATIC_INIT;
  pmix_resource_unit_t unit = PMIX_RESOURCE_UNIT_STATIC_INIT;
  pmix_node_pid_t node_pid = PMIX_NODE_PID_STATIC_INIT;
  pmix_regex2_t regex = PMIX_REGEX2_STATIC_INIT;

  CHECK(PMIX_RANK_UNDEF == proc.rank && PMIX_RANK_UNDEF == proc_info.proc.rank);
  CHECK(NULL == coord.coord && NULL == cpuset.bitmap && NULL == topology.topology &&
        NULL == geometry.coordinates);
  CHECK(NULL == distance.uuid && NULL == bytes.bytes && NULL == endpoint.endpt.bytes && NULL == envar.value);
  CHECK(NULL == array.array && 0 == buffer.bytes_used && PMIX_UNDEF == value.type &&
        PMIX_UNDEF == info.value.type);
  CHECK(NULL == query.keys && NULL == attribute.description && NULL == fabric.module && NULL == device.uuid);
  CHECK(0 == unit.count && NULL == node_pid.hostname && NULL == regex.bytes);
}

/* ---- Values and infos ---- */

static void values(void) {
  pmix_value_t value, *second = NULL;
  pmix_status_t status = PMIX_ERROR;
  size_t size = 0;

  memset(&value, 0xa5, sizeof(value));
  PMIX_VALUE_CONSTRUCT(&value);
  CHECK(zeroed(&value, sizeof(value)));
  PMIX_VALUE_LOAD(&value, "text", PMIX_STRING);
  PMIX_VALUE_XFER(status, second, &value);  // makes the second one
  CHECK(PMIX_SUCCESS == status && 0 == strcmp(second->data.string, "text"));
  CHECK(second->data.string != value.data.string);
  PMIX_VALUE_RELEASE(second);
  CHECK(NULL == second);
  char* text = NULL;
  PMIX_VALUE_UNLOAD(status, &value, &text, &size);
  CHECK(PMIX_SUCCESS == status && 0 == strcmp(text, "text"));
  free(text);
  PMIX_VALUE_DESTRUCT(&value);
  CHECK(PMIX_UNDEF == value.type);

  const uint16_t number = 300;
  pmix_value_t other;
  PMIX_VALUE_LOAD(&value, &number, PMIX_UINT16);
  PMIX_VALUE_XFER_DIRECT(status, &other, &value);
  int small = 0;
  double real = 0;
  PMIX_VALUE_GET_NUMBER(status, &other, small, int);
  CHECK(PMIX_SUCCESS == status && 300 == small);
  PMIX_VALUE_GET_NUMBER(status, &other, real, double);
  CHECK(PMIX_SUCCESS == status && real > 299.5 && real < 300.5);
  other.type = PMIX_BOOL;
  PMIX_VALUE_GET_NUMBER(status, &other, small, int);
  CHECK(PMIX_ERR_BAD_PARAM == status && 300 == small);

  PMIX_VALUE_CREATE(second, 2);
  PMIX_VALUE_LOAD(&second[1], "x", PMIX_STRING);
  PMIX_VALUE_FREE(second, 2);
  CHECK(NULL == second);
}

static pmix_boolean_t reads_as(const char* text) {
  pmix_value_t value = PMIX_VALUE_STATIC_INIT;
  value.type = PMIX_STRING;
  value.data.string = (char*)(uintptr_t)text;
  return pmix_check_true(&value);
}

static void truth(void) {
  pmix_value_t value = PMIX_VALUE_STATIC_INIT;
  CHECK(PMIX_CHECK_TRUE(&value) && PMIX_CHECK_BOOL(&value));  // a key without a value is a flag that is set
  value.type = PMIX_BOOL;
  CHECK(!PMIX_CHECK_TRUE(&value) && PMIX_CHECK_BOOL(&value));
  value.type = PMIX_INT;
  CHECK(!PMIX_CHECK_TRUE(&value) && !PMIX_CHECK_BOOL(&value));
  CHECK(PMIX_BOOL_TRUE == reads_as("True") && PMIX_BOOL_TRUE == reads_as(" yes") &&
        PMIX_BOOL_TRUE == reads_as("12"));
  CHECK(PMIX_BOOL_TRUE == reads_as("") && PMIX_BOOL_TRUE == reads_as(NULL));
  CHECK(PMIX_BOOL_FALSE == reads_as("FALSE") && PMIX_BOOL_FALSE == reads_as("no") &&
        PMIX_BOOL_FALSE == reads_as("0"));
  CHECK(PMIX_NON_BOOL == reads_as("on") && PMIX_NON_BOOL == reads_as("n") && PMIX_NON_BOOL == reads_as("-1"));
}

static void infos(void) {
  pmix_info_t *list = NULL, lent = PMIX_INFO_STATIC_INIT;
  PMIX_INFO_CREATE(list, 2);
  CHECK(!PMIX_INFO_IS_END(&list[0]) && PMIX_INFO_IS_END(&list[1]));
  PMIX_INFO_LOAD(&list[0], PMIX_HOSTNAME, "here", PMIX_STRING);
  PMIX_INFO_XFER(&list[1], &list[0]);
  CHECK(PMIX_CHECK_KEY(&list[1], PMIX_HOSTNAME) && 0 == strcmp(list[1].value.data.string, "here"));

  PMIX_INFO_REQUIRED(&list[0]);
  PMIX_INFO_PROCESSED(&list[0]);
  PMIX_INFO_SET_END(&list[0]);
  PMIX_INFO_SET_QUALIFIER(&list[0]);
  CHECK(PMIX_INFO_IS_REQUIRED(&list[0]) && PMIX_INFO_WAS_PROCESSED(&list[0]) &&
        PMIX_INFO_IS_QUALIFIER(&list[0]));
  PMIX_INFO_OPTIONAL(&list[0]);
  CHECK(PMIX_INFO_IS_OPTIONAL(&list[0]) && PMIX_INFO_WAS_PROCESSED(&list[0]) && PMIX_INFO_IS_END(&list[0]));

  lent.value = list[0].value;  // the array keeps the string
  PMIX_INFO_SET_PERSISTENT(&lent);
  CHECK(PMIX_INFO_IS_PERSISTENT(&lent));
  PMIX_INFO_DESTRUCT(&lent);
  CHECK(0 == strcmp(list[0].value.data.string, "here"));
  PMIX_INFO_FREE(list, 2);
  CHECK(NULL == list);

  const bool no = false;
  PMIX_INFO_CONSTRUCT(&lent);
  PMIX_INFO_LOAD(&lent, PMIX_COLLECT_DATA, &no, PMIX_BOOL);
  CHECK(!PMIX_INFO_TRUE(&lent));
  PMIX_INFO_DESTRUCT(&lent);
}

static void info_lists(void) {
  void* list = NULL;
  pmix_status_t status = PMIX_ERROR;
  pmix_data_array_t array = PMIX_DATA_ARRAY_STATIC_INIT;
  pmix_info_t info = PMIX_INFO_STATIC_INIT;
  PMIX_INFO_LOAD(&info, "c", "3", PMIX_STRING);

  PMIX_INFO_LIST_START(list);
  CHECK(NULL != list);
  PMIX_INFO_LIST_ADD(status, list, "a", "1", PMIX_STRING);
  CHECK(PMIX_SUCCESS == status);
  PMIX_INFO_LIST_XFER(status, list, &info);
  CHECK(PMIX_SUCCESS == status);
  PMIX_INFO_LIST_INSERT(status, list, &info);
  CHECK(PMIX_SUCCESS == status);
  PMIX_INFO_LIST_CONVERT(status, list, &array);
  CHECK(PMIX_SUCCESS == status && PMIX_INFO == array.type && 3 == array.size);
  const pmix_info_t* of = (const pmix_info_t*)array.array;
  CHECK(0 == strcmp(of[0].key, "a") && 0 == strcmp(of[1].value.data.string, "3"));
  PMIX_INFO_LIST_RELEASE(list);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  PMIX_INFO_DESTRUCT(&info);
}

/* ---- Arrays and buffers ---- */

static void data_arrays(void) {
  pmix_data_array_t array, *made = NULL;
  PMIX_DATA_ARRAY_INIT(&array, PMIX_INT);
  CHECK(PMIX_INT == array.type && 0 == array.size && NULL == array.array);
  // One of each type that an array can hold: all of them must be writable to the last byte.
  for (pmix_data_type_t type = PMIX_UNDEF; type <= PMIX_ALLOC_INHERIT; ++type) {
    PMIX_DATA_ARRAY_CONSTRUCT(&array, 2, type);
    CHECK(type == array.type && (NULL == array.array ? 0 : 2) == array.size);
    if (NULL != array.array) {
      memset(array.array, 0, 2 * weft_element_size(type));
      free(array.array);
    }
  }
  PMIX_DATA_ARRAY_CREATE(made, 3, PMIX_STRING);
  ((char**)made->array)[1] = copy("x");
  PMIX_DATA_ARRAY_FREE(made);
  CHECK(NULL == made);
  PMIX_DATA_ARRAY_CREATE(made, 2, PMIX_INFO);
  CHECK(PMIX_INFO_IS_END(&((pmix_info_t*)made->array)[1]));
  PMIX_INFO_LOAD(&((pmix_info_t*)made->array)[0], "k", "v", PMIX_STRING);
  PMIX_DATA_ARRAY_FREE(made);
  PMIX_DATA_ARRAY_CREATE(made, 0, PMIX_INFO);
  CHECK(NULL == made->array && 0 == made->size);
  PMIX_DATA_ARRAY_FREE(made);
}

static void buffers(void) {
  pmix_data_buffer_t buffer, *made = NULL;
  memset(&buffer, 0xa5, sizeof(buffer));
  PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
  CHECK(zeroed(&buffer, sizeof(buffer)));
  PMIX_DATA_BUFFER_DESTRUCT(&buffer);

  char *bytes = copy("1234"), *back = NULL;
  const char* given = bytes;
  size_t size = 0;
  PMIX_DATA_BUFFER_CREATE(made);
  PMIX_DATA_BUFFER_LOAD(made, bytes, 5);
  CHECK(made->base_ptr == given && 5 == made->bytes_used);
  PMIX_DATA_BUFFER_UNLOAD(made, back, size);
  CHECK(back == given && 5 == size && NULL == made->base_ptr);
  PMIX_DATA_BUFFER_RELEASE(made);
  CHECK(NULL == made);

  pmix_byte_object_t object = PMIX_BYTE_OBJECT_STATIC_INIT;
  PMIX_BYTE_OBJECT_LOAD(&object, back, size);
  CHECK(object.bytes == given && 5 == object.size && NULL == back && 0 == size);
  PMIX_BYTE_OBJECT_DESTRUCT(&object);
}

/* ---- Published data, applications, queries, attributes ---- */

static void compound_objects(void) {
  pmix_pdata_t *found = NULL, other;
  pmix_proc_t proc;
  PMIX_PROC_LOAD(&proc, "job", 2);
  PMIX_PDATA_CREATE(found, 2);
  PMIX_PDATA_LOAD(&found[0], &proc, "port", "4711", PMIX_STRING);
  PMIX_PDATA_XFER(&other, &found[0]);
  CHECK(2 == other.proc.rank && 0 == strcmp(other.key, "port") &&
        0 == strcmp(other.value.data.string, "4711"));
  PMIX_PDATA_DESTRUCT(&other);
  PMIX_PDATA_CONSTRUCT(&other);
  CHECK(zeroed(&other, sizeof(other)));
  PMIX_PDATA_FREE(found, 2);
  CHECK(NULL == found);

  pmix_app_t* apps = NULL;
  pmix_status_t status = PMIX_ERROR;
  PMIX_APP_CREATE(apps, 2);
  PMIX_APP_CONSTRUCT(&apps[1]);
  apps[0].cmd = copy("true");
  PMIX_ARGV_APPEND(status, apps[0].argv, "true");
  PMIX_SETENV(status, "A", "B", &apps[0].env);
  PMIX_APP_INFO_CREATE(&apps[0], 2);
  CHECK(PMIX_SUCCESS == status && 2 == apps[0].ninfo && PMIX_INFO_IS_END(&apps[0].info[1]));
  PMIX_INFO_LOAD(&apps[0].info[0], PMIX_WDIR, "/", PMIX_STRING);
  PMIX_APP_DESTRUCT(&apps[0]);
  CHECK(NULL == apps[0].info && NULL == apps[0].argv);
  PMIX_APP_FREE(apps, 2);
  CHECK(NULL == apps);

  pmix_query_t* queries = NULL;
  PMIX_QUERY_CREATE(queries, 2);
  PMIX_QUERY_CONSTRUCT(&queries[1]);
  PMIX_ARGV_APPEND(status, queries[0].keys, PMIX_QUERY_NAMESPACES);
  PMIX_QUERY_QUALIFIERS_CREATE(&queries[0], 1);
  CHECK(1 == queries[0].nqual && PMIX_INFO_IS_END(&queries[0].qualifiers[0]));
  PMIX_QUERY_DESTRUCT(&queries[0]);
  CHECK(NULL == queries[0].keys);
  PMIX_QUERY_FREE(queries, 2);

  pmix_regattr_t attribute, twin, *attributes = NULL;
  PMIX_REGATTR_CONSTRUCT(&attribute);
  PMIX_REGATTR_LOAD(&attribute, "PMIX_TIMEOUT", PMIX_TIMEOUT, PMIX_INT, "seconds");
  PMIX_REGATTR_XFER(&twin, &attribute);
  CHECK(0 == strcmp(twin.name, "PMIX_TIMEOUT") && 0 == strcmp(twin.string, PMIX_TIMEOUT) &&
        PMIX_INT == twin.type);
  CHECK(twin.description != attribute.description && 0 == strcmp(twin.description[0], "seconds"));
  PMIX_REGATTR_DESTRUCT(&attribute);
  PMIX_REGATTR_DESTRUCT(&twin);
  CHECK(NULL == twin.name && NULL == twin.description);
  PMIX_REGATTR_CREATE(attributes, 2);
  PMIX_REGATTR_FREE(attributes, 2);
  CHECK(NULL == attributes);
}

int main(void) {
  strings();
  argv_arrays();
  environments();
  names();
  plain_objects();
  released_objects();
  static_initializers();
  values();
  truth();
  infos();
  info_lists();
  data_arrays();
  buffers();
  compound_objects();
  PMIx_Heartbeat();  // only that it links: before PMIx_Init it has no effect
  if (0 != failures) {
    fprintf(stderr, "macros: %d failures\n", failures);
    return 1;
  }
  puts("ok macros");
  return 0;
}
