// SPDX-License-Identifier: BSD-3-Clause
// A rank of the tests about credentials, monitors, records and queries under weftrun: its first word says
// what it does (the table at the end). A step that does not come out as it should ends it with 1 and a line.
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pmix_proc_t me;
static uint32_t size;

static void fail_with(const char* step, const char* what) {
  fprintf(stderr, "rank %u: %s: %s\n", me.rank, step, what);
  exit(1);
}

static void expect(const char* step, pmix_status_t got, pmix_status_t wanted) {
  if (got != wanted) fail_with(step, PMIx_Error_string(got));
}

static void expect_true(const char* step, int is_true) {
  if (!is_true) fail_with(step, "is not so");
}

static void say(const char* text) {
  printf("%s\n", text);
  fflush(stdout);
}

static const pmix_value_t* value_of(const pmix_info_t* infos, size_t count, const char* key) {
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i].value;
  return NULL;
}

static void fence(int collects) {
  bool yes = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
  expect("PMIx_Fence", PMIx_Fence(NULL, 0, &info, collects ? 1 : 0), PMIX_SUCCESS);
}

/* ---- credentials */

static pmix_status_t get_credential(const char* types, pmix_byte_object_t* out) {
  pmix_info_t info;
  if (types == NULL) return PMIx_Get_credential(NULL, 0, out);
  PMIX_INFO_LOAD(&info, PMIX_CRED_TYPE, types, PMIX_STRING);
  const pmix_status_t status = PMIx_Get_credential(&info, 1, out);
  PMIX_INFO_DESTRUCT(&info);
  return status;
}

static pmix_status_t validate_text(const char* text, size_t bytes, pmix_info_t** results, size_t* count) {
  pmix_byte_object_t credential = {(char*)text, bytes};
  *results = NULL;
  *count = 0;
  return PMIx_Validate_credential(&credential, NULL, 0, results, count);
}

static void expect_owner(const pmix_info_t* infos, size_t count, const char* type, const pmix_proc_t* owner) {
  const pmix_value_t* value = value_of(infos, count, PMIX_USERID);
  expect_true("PMIX_USERID", value != NULL && value->type == PMIX_UINT32 && value->data.uint32 == getuid());
  value = value_of(infos, count, PMIX_GRPID);
  expect_true("PMIX_GRPID", value != NULL && value->type == PMIX_UINT32 && value->data.uint32 == getgid());
  value = value_of(infos, count, PMIX_CRED_TYPE);
  expect_true("PMIX_CRED_TYPE", value != NULL && strcmp(value->data.string, type) == 0);
  value = value_of(infos, count, PMIX_PROCID);
  expect_true("PMIX_PROCID", owner == NULL ? value == NULL
                                           : value != NULL && value->type == PMIX_PROC &&
                                                 PMIX_CHECK_PROCID(value->data.proc, owner));
}

/// TYPES TYPE: each rank gets one, and has those of all others checked, twice.
static void exchange_credentials(char** words) {
  pmix_byte_object_t made = {NULL, 0};
  expect("PMIx_Get_credential", get_credential(strcmp(words[0], "-") == 0 ? NULL : words[0], &made),
         PMIX_SUCCESS);
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
  value.data.bo = made;
  expect("PMIx_Put", PMIx_Put(PMIX_GLOBAL, "credential", &value), PMIX_SUCCESS);
  expect("PMIx_Commit", PMIx_Commit(), PMIX_SUCCESS);
  fence(1);
  for (uint32_t rank = 0; rank < 2 * size; ++rank) {
    pmix_proc_t of = me;
    of.rank = rank % size;
    pmix_value_t* got = NULL;
    expect("PMIx_Get", PMIx_Get(&of, "credential", NULL, 0, &got), PMIX_SUCCESS);
    pmix_info_t* results = NULL;
    size_t count = 0;
    expect("PMIx_Validate_credential", PMIx_Validate_credential(&got->data.bo, NULL, 0, &results, &count),
           PMIX_SUCCESS);
    expect_owner(results, count, words[1], &of);
    PMIX_INFO_FREE(results, count);
    PMIX_VALUE_RELEASE(got);
  }
  PMIX_BYTE_OBJECT_DESTRUCT(&made);
}

/// [TYPES]: prints the credential of rank 0, or how it failed.
static void show_credential(char** words) {
  pmix_byte_object_t made = {NULL, 0};
  const pmix_status_t status = get_credential(words[0], &made);
  if (me.rank == 0) say(status == PMIX_SUCCESS ? made.bytes : PMIx_Error_string(status));
  PMIX_BYTE_OBJECT_DESTRUCT(&made);
}

/// TEXT: prints what the server says of that credential.
static void check_credential(char** words) {
  pmix_info_t* results = NULL;
  size_t count = 0;
  const pmix_status_t status = validate_text(words[0], strlen(words[0]), &results, &count);
  printf("%s%s\n", PMIx_Error_string(status),
         value_of(results, count, PMIX_PROCID) != NULL ? " of a process" : "");
  fflush(stdout);
  PMIX_INFO_FREE(results, count);
}

static void misuse_credentials(char** words) {
  (void)words;
  pmix_byte_object_t made = {NULL, 0};
  expect("an unknown type", get_credential("kerberos", &made), PMIX_ERR_NOT_SUPPORTED);
  expect("no type", get_credential(",,", &made), PMIX_ERR_NOT_SUPPORTED);
  expect("one of several", get_credential("kerberos,,weft", &made), PMIX_SUCCESS);
  pmix_info_t* results = NULL;
  size_t count = 0;
  for (size_t bytes = 0; bytes + 1 < made.size; ++bytes)
    expect("a part", validate_text(made.bytes, bytes, &results, &count), PMIX_ERR_INVALID_CRED);
  expect("with its NUL", validate_text(made.bytes, made.size, &results, &count), PMIX_SUCCESS);
  PMIX_INFO_FREE(results, count);
  made.bytes[made.size / 2] ^= 1;
  expect("a changed one", validate_text(made.bytes, made.size, &results, &count), PMIX_ERR_INVALID_CRED);
  PMIX_BYTE_OBJECT_DESTRUCT(&made);
  char* many = calloc(1, 1 << 20);
  memcpy(many, "MUNGE:", 6);
  expect("a long one", validate_text(many, 1 << 20, &results, &count), PMIX_ERR_INVALID_CRED);
  free(many);
  int number = 7;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_CRED_TYPE, &number, PMIX_INT);
  expect("a number", PMIx_Get_credential(&info, 1, &made), PMIX_ERR_BAD_PARAM);
  PMIX_INFO_LOAD(&info, "a.wish", &number, PMIX_INT);
  PMIX_INFO_REQUIRED(&info);
  expect("a wish that is required", PMIx_Get_credential(&info, 1, &made), PMIX_ERR_NOT_SUPPORTED);
  pmix_byte_object_t none = {NULL, 0};
  expect("nothing", PMIx_Validate_credential(&none, NULL, 0, &results, &count), PMIX_ERR_BAD_PARAM);
}

/* ---- monitors */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int alerts;
static char alerted_id[64], alerted_file[512];
static pmix_proc_t alerted;

static void on_alert(size_t id, pmix_status_t status, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t count, pmix_info_t* results, size_t nresults,
                     pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
  (void)id, (void)status, (void)source, (void)results, (void)nresults;
  pthread_mutex_lock(&mutex);
  const pmix_value_t* value = value_of(infos, count, PMIX_EVENT_AFFECTED_PROC);
  if (value != NULL && value->type == PMIX_PROC) alerted = *value->data.proc;
  value = value_of(infos, count, PMIX_MONITOR_ID);
  if (value != NULL) snprintf(alerted_id, sizeof alerted_id, "%s", value->data.string);
  value = value_of(infos, count, PMIX_MONITOR_FILE);
  if (value != NULL) snprintf(alerted_file, sizeof alerted_file, "%s", value->data.string);
  ++alerts;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
}

static void listen_for(pmix_status_t code) {
  expect_true("a handler", PMIx_Register_event_handler(&code, 1, NULL, 0, on_alert, NULL, NULL) >= 0);
}

static void await_alerts(int count) {
  pthread_mutex_lock(&mutex);
  while (alerts < count) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
}

static pmix_status_t monitor(const char* kind, const void* value, pmix_data_type_t type, pmix_status_t code,
                             pmix_info_t* directives, size_t count) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, kind, value, type);
  const pmix_status_t status = PMIx_Process_monitor(&info, code, directives, count, NULL, NULL);
  PMIX_INFO_DESTRUCT(&info);
  return status;
}

/// Rank 0 is monitored and silent; all ranks hear of it, and again after a heartbeat.
static void miss_heartbeats(char** words) {
  (void)words;
  const pmix_status_t code = -4321;
  listen_for(code);
  fence(0);
  const uint32_t time = 1, drops = 1;
  pmix_info_t directives[3];
  PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_HEARTBEAT_TIME, &time, PMIX_UINT32);
  PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_HEARTBEAT_DROPS, &drops, PMIX_UINT32);
  PMIX_INFO_LOAD(&directives[2], PMIX_MONITOR_ID, "beats", PMIX_STRING);
  if (me.rank == 0)
    expect("a monitor", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, code, directives, 3),
           PMIX_SUCCESS);
  await_alerts(1);
  expect_true("the silent process", alerted.rank == 0 && strcmp(alerted_id, "beats") == 0);
  if (me.rank == 0) (PMIx_Heartbeat)();
  await_alerts(2);
  if (me.rank == 0) {
    expect("no such monitor", monitor(PMIX_MONITOR_CANCEL, "others", PMIX_STRING, 0, NULL, 0),
           PMIX_ERR_NOT_FOUND);
    expect("a cancel", monitor(PMIX_MONITOR_CANCEL, "beats", PMIX_STRING, 0, NULL, 0), PMIX_SUCCESS);
    expect("it is gone", monitor(PMIX_MONITOR_CANCEL, "beats", PMIX_STRING, 0, NULL, 0), PMIX_ERR_NOT_FOUND);
  }
  PMIX_INFO_DESTRUCT(&directives[2]);
  fence(0);
}

/// PATH: the last rank has it watched; all ranks hear that it does not grow.
static void miss_a_file(char** words) {
  listen_for(PMIX_MONITOR_FILE_ALERT);
  fence(0);
  const uint32_t time = 1;
  const bool yes = true;
  pmix_info_t directives[2];
  PMIX_INFO_LOAD(&directives[0], PMIX_MONITOR_FILE_CHECK_TIME, &time, PMIX_UINT32);
  PMIX_INFO_LOAD(&directives[1], PMIX_MONITOR_FILE_SIZE, &yes, PMIX_BOOL);
  if (me.rank == size - 1)
    expect("a monitor", monitor(PMIX_MONITOR_FILE, words[0], PMIX_STRING, PMIX_SUCCESS, directives, 2),
           PMIX_SUCCESS);
  await_alerts(1);
  expect_true("the file", alerted.rank == size - 1 && strcmp(alerted_file, words[0]) == 0);
  fence(0);
}

static void misuse_monitors(char** words) {
  (void)words;
  const uint32_t none = 0;
  pmix_info_t directive;
  PMIX_INFO_LOAD(&directive, PMIX_MONITOR_HEARTBEAT_TIME, &none, PMIX_UINT32);
  expect("no time", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, 0, &directive, 1),
         PMIX_ERR_BAD_PARAM);
  expect("a relative path", monitor(PMIX_MONITOR_FILE, "file", PMIX_STRING, 0, NULL, 0), PMIX_ERR_BAD_PARAM);
  expect("no path", monitor(PMIX_MONITOR_FILE, &none, PMIX_UINT32, 0, NULL, 0), PMIX_ERR_BAD_PARAM);
  expect("another kind", monitor("a.kind", &none, PMIX_UINT32, 0, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
  expect("nothing", PMIx_Process_monitor(NULL, 0, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
  for (int i = 0; i < 64; ++i)
    expect("one of many", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, 0, NULL, 0), PMIX_SUCCESS);
  expect("too many", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, 0, NULL, 0),
         PMIX_ERR_OUT_OF_RESOURCE);
  expect("a cancel of all", monitor(PMIX_MONITOR_CANCEL, NULL, PMIX_STRING, 0, NULL, 0), PMIX_SUCCESS);
}

/* ---- records */

static pmix_status_t log_one(const char* key, const char* text) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, text, PMIX_STRING);
  const pmix_status_t status = PMIx_Log(&info, 1, NULL, 0);
  PMIX_INFO_DESTRUCT(&info);
  return status;
}

/// The last rank logs to both streams of the terminal.
static void log_to_terminal(char** words) {
  (void)words;
  if (me.rank == size - 1) {
    expect("stdout", log_one(PMIX_LOG_STDOUT, "a record for stdout\n"), PMIX_SUCCESS);
    expect("stderr", log_one(PMIX_LOG_STDERR, "a record for stderr\n"), PMIX_SUCCESS);
  }
}

/// The last rank logs to the syslog of the gateway; prints how each call ended.
static void log_to_gateway(char** words) {
  (void)words;
  if (me.rank != size - 1) return;
  pmix_info_t info[2], how;
  say(PMIx_Error_string(log_one(PMIX_LOG_GLOBAL_SYSLOG, "a global record")));
  const int priority = 6;
  PMIX_INFO_LOAD(&how, PMIX_LOG_SYSLOG_PRI, &priority, PMIX_INT);
  PMIX_INFO_LOAD(&info[0], PMIX_LOG_SYSLOG, "a record", PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_LOG_JOB_RECORD, "no record", PMIX_STRING);
  say(PMIx_Error_string(PMIx_Log(info, 1, &how, 1)));
  say(PMIx_Error_string(PMIx_Log(info, 2, &how, 1)));
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);
}

static void misuse_records(char** words) {
  (void)words;
  expect("a job record", log_one(PMIX_LOG_JOB_RECORD, "text"), PMIX_ERR_NOT_SUPPORTED);
  expect("mail", log_one(PMIX_LOG_EMAIL, "text"), PMIX_ERR_NOT_SUPPORTED);
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], PMIX_LOG_STDERR, "a part\n", PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_LOG_EMAIL, "text", PMIX_STRING);
  expect("one of two", PMIx_Log(info, 2, NULL, 0), PMIX_ERR_PARTIAL_SUCCESS);
  PMIX_INFO_DESTRUCT(&info[0]);
  PMIX_INFO_DESTRUCT(&info[1]);
  const int number = 9;
  PMIX_INFO_LOAD(&info[0], PMIX_LOG_GLOBAL_SYSLOG, &number, PMIX_INT);
  expect("a number", PMIx_Log(info, 1, NULL, 0), PMIX_ERR_BAD_PARAM);
  PMIX_INFO_LOAD(&info[0], PMIX_LOG_GLOBAL_SYSLOG, "text", PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_LOG_SYSLOG_PRI, &number, PMIX_INT);
  expect("a wild priority", PMIx_Log(info, 1, &info[1], 1), PMIX_ERR_BAD_PARAM);
  PMIX_INFO_DESTRUCT(&info[0]);
}

/* ---- queries */

/// The status of a query for one key; the value of a success is the caller's to release.
static pmix_status_t ask(const char* key, pmix_info_t* qualifiers, size_t count, pmix_info_t** results,
                         size_t* nresults) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  char* keys[] = {(char*)key, NULL};
  query.keys = keys;
  query.qualifiers = qualifiers;
  query.nqual = count;
  *results = NULL;
  *nresults = 0;
  return PMIx_Query_info(&query, 1, results, nresults);
}

static void expect_answer(const char* key, pmix_info_t* qualifiers, size_t count, pmix_info_t** results,
                          size_t* nresults) {
  expect(key, ask(key, qualifiers, count, results, nresults), PMIX_SUCCESS);
  expect_true(key, *nresults == 1);
}

static size_t count_of_groups(bool is_local) {
  pmix_info_t *results, qualifier;
  size_t nresults;
  PMIX_INFO_LOAD(&qualifier, PMIX_QUERY_LOCAL_ONLY, &is_local, PMIX_BOOL);
  expect_answer(PMIX_QUERY_NUM_GROUPS, &qualifier, 1, &results, &nresults);
  const size_t number = results[0].value.data.size;
  PMIX_INFO_FREE(results, nresults);
  return number;
}

/// LOCAL: the two last ranks, of another node than the first where LOCAL is 0, have a group.
static void ask_about_groups(char** words) {
  pmix_proc_t members[2] = {me, me};
  members[0].rank = size - 2;
  members[1].rank = size - 1;
  pmix_info_t *results = NULL, qualifier;
  size_t nresults = 0;
  if (me.rank >= size - 2)
    expect("PMIx_Group_construct", PMIx_Group_construct("far", members, 2, NULL, 0, &results, &nresults),
           PMIX_SUCCESS);
  PMIX_INFO_FREE(results, nresults);
  fence(0);
  expect_true("groups of all nodes", count_of_groups(false) == 1);
  expect_true("groups of this node", me.rank != 0 || count_of_groups(true) == (size_t)atoi(words[0]));
  PMIX_INFO_LOAD(&qualifier, PMIX_GROUP_ID, "far", PMIX_STRING);
  expect_answer(PMIX_QUERY_GROUP_MEMBERSHIP, &qualifier, 1, &results, &nresults);
  const pmix_data_array_t* array = results[0].value.data.darray;
  expect_true("the members", array->size == 2 && ((pmix_proc_t*)array->array)[1].rank == size - 1);
  PMIX_INFO_FREE(results, nresults);
  expect_answer(PMIX_QUERY_GROUP_NAMES, NULL, 0, &results, &nresults);
  array = results[0].value.data.darray;
  expect_true("the names", array->size == 1 && strcmp(((char**)array->array)[0], "far") == 0);
  PMIX_INFO_FREE(results, nresults);
  PMIX_INFO_DESTRUCT(&qualifier);
  PMIX_INFO_LOAD(&qualifier, PMIX_GROUP_ID, "none", PMIX_STRING);
  expect("no such group", ask(PMIX_QUERY_GROUP_MEMBERSHIP, &qualifier, 1, &results, &nresults),
         PMIX_ERR_NOT_FOUND);
  PMIX_INFO_DESTRUCT(&qualifier);
  fence(0);
  if (me.rank >= size - 2) expect("PMIx_Group_destruct", PMIx_Group_destruct("far", NULL, 0), PMIX_SUCCESS);
}

/// NODES: the memory of each node's server and client; a node that is not there has none.
static void ask_about_memory(char** words) {
  pmix_info_t *results, qualifier;
  size_t nresults;
  const uint32_t nodes = (uint32_t)atoi(words[0]), no_node = 99;
  for (uint32_t node = 0; node < nodes; ++node) {
    PMIX_INFO_LOAD(&qualifier, PMIX_NODEID, &node, PMIX_UINT32);
    expect_answer(PMIX_DAEMON_MEMORY, &qualifier, 1, &results, &nresults);
    expect_true("memory", results[0].value.type == PMIX_FLOAT && results[0].value.data.fval > 0);
    PMIX_INFO_FREE(results, nresults);
    for (float used = 0; used <= 0;) {  // until the node's client is connected
      expect_answer(PMIX_CLIENT_AVG_MEMORY, &qualifier, 1, &results, &nresults);
      used = results[0].value.data.fval;
      PMIX_INFO_FREE(results, nresults);
    }
  }
  PMIX_INFO_LOAD(&qualifier, PMIX_NODEID, &no_node, PMIX_UINT32);
  expect("no such node", ask(PMIX_DAEMON_MEMORY, &qualifier, 1, &results, &nresults), PMIX_ERR_NOT_FOUND);
  fence(0);
}

static int names_key(const char* list, const char* key) {
  const size_t length = strlen(key);
  for (const char* at = list; (at = strstr(at, key)) != NULL; ++at)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return 1;
  return 0;
}

/// Each key that is said to be supported is answered; what this system cannot know is not among them.
static void ask_for_all_that_is_supported(char** words) {
  (void)words;
  pmix_info_t *results, *answers, qualifier;
  size_t nresults, nanswers;
  expect_answer(PMIX_QUERY_SUPPORTED_KEYS, NULL, 0, &results, &nresults);
  const char* list = results[0].value.data.string;
  for (const char *wanted[] = {PMIX_QUERY_NAMESPACES, PMIX_QUERY_JOB_STATUS, PMIX_QUERY_AVAIL_SERVERS,
                               PMIX_QUERY_MEMORY_USAGE, PMIX_QUERY_SPAWN_SUPPORT, NULL},
                  **each = wanted;
       *each != NULL; ++each)
    expect_true(*each, names_key(list, *each));
  expect_true("no queues",
              !names_key(list, PMIX_QUERY_QUEUE_LIST) && !names_key(list, PMIX_QUERY_ALLOC_STATUS));
  PMIX_INFO_LOAD(&qualifier, PMIX_PROCID, &me, PMIX_PROC);
  char* copy = strdup(list);
  for (char *rest = copy, *key; (key = strtok_r(rest, ",", &rest)) != NULL;) {
    const int names_something =
        strcmp(key, PMIX_QUERY_GROUP_MEMBERSHIP) == 0 || strcmp(key, PMIX_QUERY_PSET_MEMBERSHIP) == 0;
    expect(key, ask(key, &qualifier, 1, &answers, &nanswers),
           names_something ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS);
    PMIX_INFO_FREE(answers, nanswers);
  }
  free(copy);
  PMIX_INFO_DESTRUCT(&qualifier);
  PMIX_INFO_FREE(results, nresults);
  expect_answer(PMIX_QUERY_SPAWN_SUPPORT, NULL, 0, &results, &nresults);
  expect_true("attributes of a spawn", names_key(results[0].value.data.string, PMIX_WDIR));
  PMIX_INFO_FREE(results, nresults);
  expect_answer(PMIX_QUERY_AVAIL_SERVERS, NULL, 0, &results, &nresults);
  const pmix_data_array_t* servers = results[0].value.data.darray;
  int own = 0;
  for (size_t i = 0; i < servers->size; ++i) {
    const pmix_data_array_t* one = ((pmix_info_t*)servers->array)[i].value.data.darray;
    own += value_of(one->array, one->size, PMIX_SERVER_URI) != NULL;
    expect_true("a server's pid", value_of(one->array, one->size, PMIX_SERVER_PIDINFO) != NULL);
  }
  expect_true("the own server", own == 1);
  PMIX_INFO_FREE(results, nresults);
}

/// The last rank dies; the status of the job says so at all others.
static void ask_about_a_death(char** words) {
  (void)words;
  pmix_info_t* results;
  size_t nresults;
  pmix_status_t status = PMIX_SUCCESS;
  expect_answer(PMIX_QUERY_JOB_STATUS, NULL, 0, &results, &nresults);
  expect("before", results[0].value.data.status, PMIX_SUCCESS);
  PMIX_INFO_FREE(results, nresults);
  fence(0);
  if (me.rank == size - 1) raise(SIGKILL);
  while (status == PMIX_SUCCESS) {
    usleep(1000);
    expect_answer(PMIX_QUERY_JOB_STATUS, NULL, 0, &results, &nresults);
    status = results[0].value.data.status;
    PMIX_INFO_FREE(results, nresults);
  }
  expect("behind", status, PMIX_ERR_PROC_TERM_WO_SYNC);
}

/// PROGRAM: asks about a job that it spawns, which waits until it is ended.
static void ask_about_another_job(char** words) {
  if (me.rank != 0) return;
  pmix_status_t status;
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(words[0]);
  PMIX_ARGV_APPEND(status, app.argv, words[0]);
  PMIX_ARGV_APPEND(status, app.argv, "wait");
  app.maxprocs = 2;
  pmix_nspace_t child;
  expect("PMIx_Spawn", PMIx_Spawn(NULL, 0, &app, 1, child), PMIX_SUCCESS);
  PMIX_APP_DESTRUCT(&app);
  pmix_info_t *results, qualifier;
  size_t nresults;
  PMIX_INFO_LOAD(&qualifier, PMIX_NSPACE, child, PMIX_STRING);
  expect_answer(PMIX_QUERY_JOB_STATUS, &qualifier, 1, &results, &nresults);
  expect("its status", results[0].value.data.status, PMIX_SUCCESS);
  PMIX_INFO_FREE(results, nresults);
  expect_answer(PMIX_QUERY_PROC_TABLE, &qualifier, 1, &results, &nresults);
  const pmix_data_array_t* table = results[0].value.data.darray;
  expect_true("its processes",
              table->size == 2 && PMIX_CHECK_NSPACE(((pmix_proc_info_t*)table->array)[1].proc.nspace, child));
  PMIX_INFO_FREE(results, nresults);
  expect_answer(PMIX_QUERY_NAMESPACE_INFO, &qualifier, 1, &results, &nresults);
  const pmix_data_array_t* of_all = results[0].value.data.darray;
  expect_true("one namespace", of_all->size == 1);
  PMIX_INFO_FREE(results, nresults);
  pmix_proc_t target;
  PMIX_LOAD_PROCID(&target, child, PMIX_RANK_WILDCARD);
  pmix_info_t kill_it;
  PMIX_INFO_LOAD(&kill_it, PMIX_JOB_CTRL_TERMINATE, NULL, PMIX_BOOL);
  expect("PMIx_Job_control", PMIx_Job_control(&target, 1, &kill_it, 1, &results, &nresults), PMIX_SUCCESS);
  while ((status = ask(PMIX_QUERY_JOB_STATUS, &qualifier, 1, &results, &nresults)) == PMIX_SUCCESS) {
    PMIX_INFO_FREE(results, nresults);
    usleep(1000);
  }
  expect("a job that has ended", status, PMIX_ERR_NOT_FOUND);
  PMIX_INFO_DESTRUCT(&qualifier);
}

static void wait_for_the_end(char** words) {
  (void)words;
  for (;;) pause();
}

/* ---- allocations */

static void on_allocated(pmix_status_t status, pmix_info_t* infos, size_t count, void* cbdata,
                         pmix_release_cbfunc_t release, void* release_data) {
  (void)cbdata;
  pthread_mutex_lock(&mutex);
  const pmix_value_t* why = value_of(infos, count, PMIX_EVENT_TEXT_MESSAGE);
  printf("%s: %s\n", PMIx_Error_string(status), why != NULL ? why->data.string : "");
  fflush(stdout);
  ++alerts;
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&mutex);
  if (release != NULL) release(release_data);
}

/// Prints how a request for an allocation ends.
static void ask_for_nodes(char** words) {
  (void)words;
  const uint64_t nodes = 1;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_ALLOC_NUM_NODES, &nodes, PMIX_UINT64);
  expect("PMIx_Allocation_request_nb",
         PMIx_Allocation_request_nb(PMIX_ALLOC_EXTEND, &info, 1, on_allocated, NULL), PMIX_SUCCESS);
  await_alerts(1);
}

/* ---- the table */

static const struct {
  const char* name;
  void (*run)(char** words);
} actions[] = {
    {"exchange_credentials", exchange_credentials},
    {"show_credential", show_credential},
    {"check_credential", check_credential},
    {"misuse_credentials", misuse_credentials},
    {"miss_heartbeats", miss_heartbeats},
    {"miss_a_file", miss_a_file},
    {"misuse_monitors", misuse_monitors},
    {"log_to_terminal", log_to_terminal},
    {"log_to_gateway", log_to_gateway},
    {"misuse_records", misuse_records},
    {"ask_about_groups", ask_about_groups},
    {"ask_about_memory", ask_about_memory},
    {"ask_for_all_that_is_supported", ask_for_all_that_is_supported},
    {"ask_about_a_death", ask_about_a_death},
    {"ask_about_another_job", ask_about_another_job},
    {"ask_for_nodes", ask_for_nodes},
    {"wait", wait_for_the_end},
};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  expect("PMIx_Init", PMIx_Init(&me, NULL, 0), PMIX_SUCCESS);
  pmix_proc_t job = me;
  job.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = NULL;
  expect("PMIX_JOB_SIZE", PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), PMIX_SUCCESS);
  size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  for (size_t i = 0; i < sizeof actions / sizeof *actions; ++i)
    if (strcmp(actions[i].name, argv[1]) == 0) {
      actions[i].run(argv + 2);
      return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
    }
  return 2;
}
