// SPDX-License-Identifier: BSD-3-Clause
// A rank of the tests about credentials, monitors, records and queries under weftrun: its first word says
// what it does (the table at the end). A step that does not come out as it should ends it with 1 and a line.
#include <pmix.h>
#include <pthread.h>
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
  if (me.rank != 0) return;
  say(status == PMIX_SUCCESS ? made.bytes : PMIx_Error_string(status));
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
    expect("a monitor", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, code, directives, 3), PMIX_SUCCESS);
  await_alerts(1);
  expect_true("the silent process", alerted.rank == 0 && strcmp(alerted_id, "beats") == 0);
  if (me.rank == 0) (PMIx_Heartbeat)();
  await_alerts(2);
  if (me.rank == 0) {
    expect("no such monitor", monitor(PMIX_MONITOR_CANCEL, "others", PMIX_STRING, 0, NULL, 0), PMIX_ERR_NOT_FOUND);
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
  expect("no time", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, 0, &directive, 1), PMIX_ERR_BAD_PARAM);
  expect("a relative path", monitor(PMIX_MONITOR_FILE, "file", PMIX_STRING, 0, NULL, 0), PMIX_ERR_BAD_PARAM);
  expect("no path", monitor(PMIX_MONITOR_FILE, &none, PMIX_UINT32, 0, NULL, 0), PMIX_ERR_BAD_PARAM);
  expect("another kind", monitor("a.kind", &none, PMIX_UINT32, 0, NULL, 0), PMIX_ERR_NOT_SUPPORTED);
  expect("nothing", PMIx_Process_monitor(NULL, 0, NULL, 0, NULL, NULL), PMIX_ERR_BAD_PARAM);
  for (int i = 0; i < 64; ++i)
    expect("one of many", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, 0, NULL, 0), PMIX_SUCCESS);
  expect("too many", monitor(PMIX_MONITOR_HEARTBEAT, NULL, PMIX_POINTER, 0, NULL, 0), PMIX_ERR_OUT_OF_RESOURCE);
  expect("a cancel of all", monitor(PMIX_MONITOR_CANCEL, NULL, PMIX_STRING, 0, NULL, 0), PMIX_SUCCESS);
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
