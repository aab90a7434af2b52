// SPDX-License-Identifier: BSD-3-Clause
// A debugger of a running job, without the debugging: it attaches to the job's launcher, prints the table of
// the job's processes, puts a daemon on each node that has some, and lets processes that wait for a debugger
// go on (weftrun --stop-in-init, or PMIX_DEBUG_STOP_IN_INIT of PMIx_Spawn).
//
//   debugger PID|URI [NAMESPACE]   without a namespace: the first that the server knows
//
// The same program is the daemon: "debugger --daemon". It finds its target in its job's data, and looks at
// the target's processes of its own node, as the kernel has them.
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "debugger: %s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}

// The value of one key; the caller frees *infos.
static pmix_value_t* ask(const char* key, const pmix_proc_t* about, pmix_info_t** infos, size_t* count) {
  pmix_query_t query;
  pmix_status_t status = PMIX_SUCCESS;
  PMIX_QUERY_CONSTRUCT(&query);
  PMIX_ARGV_APPEND(status, query.keys, key);
  require("memory", status);
  if (about != NULL) {
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_NSPACE, about->nspace, PMIX_STRING);
  }
  require(key, PMIx_Query_info(&query, 1, infos, count));
  PMIX_QUERY_DESTRUCT(&query);
  return &(*infos)[0].value;
}

// ---- the daemon

// The state of a process as the kernel has it: R, S, T (stopped), ...; '?': it has gone.
static char state_of(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return '?';
  const char* const text = fgets(line, sizeof line, file);
  const char* const end = text == NULL ? NULL : strrchr(text, ')');
  fclose(file);
  return end == NULL || end[1] == '\0' ? '?' : end[2];
}

static int be_daemon(void) {
  pmix_proc_t me, job;
  pmix_value_t* target = NULL;
  pmix_info_t* infos = NULL;
  size_t count = 0;
  require("PMIx_Init", PMIx_Init(&me, NULL, 0));
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  require(PMIX_DEBUG_TARGET, PMIx_Get(&job, PMIX_DEBUG_TARGET, NULL, 0, &target));
  const pmix_data_array_t* const rows =
      ask(PMIX_QUERY_LOCAL_PROC_TABLE, target->data.proc, &infos, &count)->data.darray;
  const pmix_proc_info_t* const procs = rows->array;
  // A real debugger attaches to these pids here: ptrace(PTRACE_SEIZE, pid, ...).
  for (size_t i = 0; i < rows->size; ++i)
    printf("daemon %u: rank %u is pid %d, state %c, %s on %s\n", me.rank, procs[i].proc.rank,
           (int)procs[i].pid, state_of(procs[i].pid), procs[i].executable_name, procs[i].hostname);
  fflush(stdout);
  PMIX_INFO_FREE(infos, count);
  PMIX_VALUE_RELEASE(target);
  require("PMIx_Finalize", PMIx_Finalize(NULL, 0));
  return 0;
}

// ---- the tool

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char daemons[PMIX_MAX_NSLEN + 1], ended[PMIX_MAX_NSLEN + 1];

static void on_end(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos, size_t count,
                   pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                   void* cookie) {
  (void)id, (void)code, (void)source, (void)results, (void)nresults;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], PMIX_NSPACE))
      snprintf(ended, sizeof ended, "%s", infos[i].value.data.string);
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cookie);
}

static void attach(const char* server) {
  pmix_proc_t me;
  pmix_info_t where;
  char* rest = NULL;
  pid_t pid = (pid_t)strtol(server, &rest, 10);
  if (*rest == '\0')
    PMIX_INFO_LOAD(&where, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  else
    PMIX_INFO_LOAD(&where, PMIX_SERVER_URI, server, PMIX_STRING);
  require("PMIx_tool_init", PMIx_tool_init(&me, &where, 1));
  PMIX_INFO_DESTRUCT(&where);
  pmix_status_t code = PMIX_EVENT_JOB_END;
  const pmix_status_t handler = PMIx_Register_event_handler(&code, 1, NULL, 0, on_end, NULL, NULL);
  require("PMIx_Register_event_handler", handler < 0 ? handler : PMIX_SUCCESS);
}

static void find_job(pmix_proc_t* job) {
  pmix_info_t* infos = NULL;
  size_t count = 0;
  const char* const all = ask(PMIX_QUERY_NAMESPACES, NULL, &infos, &count)->data.string;
  char first[PMIX_MAX_NSLEN + 1];
  snprintf(first, sizeof first, "%.*s", (int)strcspn(all, ","), all);
  PMIX_LOAD_PROCID(job, first, PMIX_RANK_WILDCARD);
  PMIX_INFO_FREE(infos, count);
}

static void print_table(const pmix_proc_t* job) {
  pmix_info_t* infos = NULL;
  size_t count = 0;
  const pmix_data_array_t* const rows = ask(PMIX_QUERY_PROC_TABLE, job, &infos, &count)->data.darray;
  const pmix_proc_info_t* const procs = rows->array;
  printf("%zu processes of %s\n", rows->size, job->nspace);
  for (size_t i = 0; i < rows->size; ++i)
    printf("rank %u: pid %d, %s on %s, %s\n", procs[i].proc.rank, (int)procs[i].pid, procs[i].executable_name,
           procs[i].hostname, PMIx_Proc_state_string(procs[i].state));
  fflush(stdout);
  PMIX_INFO_FREE(infos, count);
}

// A daemon on each node of the job; returns when all have looked at their processes.
static void run_daemons(const char* program, pmix_proc_t* job) {
  pmix_app_t app;
  pmix_info_t how[3];
  char* words[] = {(char*)program, (char*)"--daemon", NULL};
  const bool yes = true;
  const uint16_t one = 1;
  pmix_nspace_t nspace;
  PMIX_INFO_LOAD(&how[0], PMIX_DEBUGGER_DAEMONS, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&how[1], PMIX_DEBUG_TARGET, job, PMIX_PROC);
  PMIX_INFO_LOAD(&how[2], PMIX_DEBUG_DAEMONS_PER_NODE, &one, PMIX_UINT16);
  memset(&app, 0, sizeof app);
  app.cmd = words[0];
  app.argv = words;
  app.maxprocs = 1;
  app.info = how;
  app.ninfo = 3;
  require("PMIx_Spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace));
  for (size_t i = 0; i < 3; ++i) PMIX_INFO_DESTRUCT(&how[i]);
  pthread_mutex_lock(&lock);
  snprintf(daemons, sizeof daemons, "%s", nspace);
  while (strcmp(daemons, ended) != 0) pthread_cond_wait(&changed, &lock);
  pthread_mutex_unlock(&lock);
}

// What waits for a debugger goes on; nothing happens to what does not.
static void release(const pmix_proc_t* job) {
  pmix_info_t how[2];
  const bool yes = true;
  PMIX_INFO_LOAD(&how[0], PMIX_EVENT_CUSTOM_RANGE, job, PMIX_PROC);
  PMIX_INFO_LOAD(&how[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
  require("PMIx_Notify_event",
          PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, NULL, PMIX_RANGE_CUSTOM, how, 2, NULL, NULL));
  PMIX_INFO_DESTRUCT(&how[0]);
  printf("released\n");
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--daemon") == 0) return be_daemon();
  if (argc != 2 && argc != 3) {
    fprintf(stderr, "debugger PID|URI [NAMESPACE]\n");
    return 2;
  }
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0) return 3;
  program[length] = '\0';
  pmix_proc_t job;
  attach(argv[1]);
  if (argc == 3)
    PMIX_LOAD_PROCID(&job, argv[2], PMIX_RANK_WILDCARD);
  else
    find_job(&job);
  print_table(&job);
  run_daemons(program, &job);
  release(&job);
  require("PMIx_tool_finalize", PMIx_tool_finalize());
  return 0;
}
