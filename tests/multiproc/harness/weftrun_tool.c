// SPDX-License-Identifier: BSD-3-Clause
// A tool of weftrun's or weftd's server: weftrun_tool PID. The program prints "connected", then a line for
// each event of a job that it hears, "default CODE" for each that its default handler hears, and ends when
// the server has gone.
#include <pmix_tool.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_lost;

static const pmix_info_t* find(const pmix_info_t* infos, size_t count, const char* key) {
  for (size_t i = 0; i < count; ++i)
    if (strcmp(infos[i].key, key) == 0) return &infos[i];
  return NULL;
}

static void on_job(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos, size_t count,
                   pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                   void* open) {
  (void)id, (void)source, (void)results, (void)nresults;
  const pmix_info_t* const nspace = find(infos, count, PMIX_NSPACE);
  const pmix_info_t* const affected = find(infos, count, PMIX_EVENT_AFFECTED_PROC);
  const pmix_info_t* const status = find(infos, count, PMIX_JOB_TERM_STATUS);
  const pmix_info_t* const failed = find(infos, count, PMIX_PROCID);
  const pmix_info_t* const exit_code = find(infos, count, PMIX_EXIT_CODE);
  const int is_whole = nspace != NULL && affected != NULL &&
                       find(infos, count, PMIX_EVENT_TIMESTAMP) != NULL &&
                       affected->value.data.proc->rank == PMIX_RANK_WILDCARD &&
                       strcmp(nspace->value.data.string, affected->value.data.proc->nspace) == 0;
  flockfile(stdout);  // the other thread prints no line into this one
  printf("%s %s", PMIx_Error_string(code), is_whole ? "of a job" : "incomplete");
  if (status != NULL) printf(" %s", PMIx_Error_string(status->value.data.status));
  if (failed != NULL && exit_code != NULL)
    printf(" rank %u exit %d", failed->value.data.proc->rank, exit_code->value.data.integer);
  printf("\n"), fflush(stdout);
  funlockfile(stdout);
  done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, open);
}

static void on_any(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t* infos, size_t count,
                   pmix_info_t* results, size_t nresults, pmix_event_notification_cbfunc_fn_t done,
                   void* open) {
  (void)id, (void)source, (void)infos, (void)count, (void)results, (void)nresults;
  printf("default %s\n", PMIx_Error_string(code)), fflush(stdout);
  done(PMIX_EVENT_NO_ACTION_TAKEN, NULL, 0, NULL, NULL, open);
  if (code != PMIX_ERR_LOST_CONNECTION) return;
  pthread_mutex_lock(&mutex);
  is_lost = 1;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&mutex);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  pid_t pid = (pid_t)atoi(argv[1]);
  pmix_info_t server;
  PMIX_INFO_LOAD(&server, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  pmix_proc_t me;
  if (PMIx_tool_init(&me, &server, 1) != PMIX_SUCCESS) return 3;
  pmix_status_t codes[] = {PMIX_EVENT_JOB_START, PMIX_LAUNCH_COMPLETE, PMIX_EVENT_JOB_END};
  if (PMIx_Register_event_handler(codes, 3, NULL, 0, on_job, NULL, NULL) < 0) return 4;
  if (PMIx_Register_event_handler(NULL, 0, NULL, 0, on_any, NULL, NULL) < 0) return 4;
  printf("connected\n"), fflush(stdout);
  pthread_mutex_lock(&mutex);
  while (!is_lost) pthread_cond_wait(&changed, &mutex);
  pthread_mutex_unlock(&mutex);
  return PMIx_tool_finalize() == PMIX_SUCCESS ? 0 : 5;
}
