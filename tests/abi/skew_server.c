// SPDX-License-Identifier: BSD-3-Clause
//
// A host for one job on one node:   skew_server N CLIENT
// Starts N processes of CLIENT, each with N as its argument, and prints "ok skew_server N on LIBRARY" if all
// ended with 0 and the upcalls came as they must. Compiled once with each set of headers and run on each
// library (skew.sh).
#define PROGRAM_NAME "skew_server"
#include "skew.h"

#include <pmix_server.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const pmix_nspace_t job = "skew-job";

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int connected, finalized, fences;

static void count(int* counter) {
  pthread_mutex_lock(&mutex);
  ++*counter;
  pthread_mutex_unlock(&mutex);
}

/* ---- Upcalls ---- */

static pmix_status_t client_connected(const pmix_proc_t* proc, void* server_object, pmix_info_t* info,
                                      size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
  (void)proc, (void)server_object, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
  count(&connected);
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t client_finalized(const pmix_proc_t* proc, void* server_object, pmix_op_cbfunc_t cbfunc,
                                      void* cbdata) {
  (void)proc, (void)server_object;
  count(&finalized);
  if (NULL != cbfunc) {
    cbfunc(PMIX_SUCCESS, cbdata);
  }
  return PMIX_SUCCESS;
}

// One node: what came from here is all there is.
static pmix_status_t fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                              size_t ninfo, char* data, size_t ndata, pmix_modex_cbfunc_t cbfunc,
                              void* cbdata) {
  (void)procs, (void)nprocs, (void)info, (void)ninfo;
  count(&fences);
  cbfunc(PMIX_SUCCESS, data, ndata, cbdata, pmix_free, data);
  return PMIX_SUCCESS;
}

static pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                                  pmix_modex_cbfunc_t cbfunc, void* cbdata) {
  (void)proc, (void)info, (void)ninfo, (void)cbfunc, (void)cbdata;
  return PMIX_ERR_NOT_FOUND;
}

/* ---- The job ---- */

static void load_number(pmix_info_t* info, const char* key, uint32_t number) {
  PMIX_INFO_LOAD(info, key, &number, PMIX_UINT32);
}

// The host's data about one rank: a data array of infos.
static void load_rank(pmix_info_t* info, pmix_rank_t rank) {
  const uint16_t local = (uint16_t)rank;
  const uint32_t node = 0;
  PMIX_LOAD_KEY(info->key, PMIX_PROC_DATA);
  info->value.type = PMIX_DATA_ARRAY;
  PMIX_DATA_ARRAY_CREATE(info->value.data.darray, 5, PMIX_INFO);
  pmix_info_t* of_rank = (pmix_info_t*)info->value.data.darray->array;
  PMIX_INFO_LOAD(&of_rank[0], PMIX_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&of_rank[1], PMIX_LOCAL_RANK, &local, PMIX_UINT16);
  PMIX_INFO_LOAD(&of_rank[2], PMIX_NODE_RANK, &local, PMIX_UINT16);
  PMIX_INFO_LOAD(&of_rank[3], PMIX_NODEID, &node, PMIX_UINT32);
  PMIX_INFO_LOAD(&of_rank[4], PMIX_GLOBAL_RANK, &rank, PMIX_PROC_RANK);
}

static void register_job(uint32_t n) {
  char host[256], *node_map = NULL, *proc_map = NULL, *peers = NULL, **ranks = NULL;
  EXPECT(0 == gethostname(host, sizeof(host)));
  for (uint32_t i = 0; i < n; ++i) {
    char text[16];
    pmix_status_t status;
    snprintf(text, sizeof(text), "%u", (unsigned)i);
    PMIX_ARGV_APPEND(status, ranks, text);
    EXPECT_SUCCESS(status);
  }
  PMIX_ARGV_JOIN(peers, ranks, ',');
  EXPECT_SUCCESS(PMIx_generate_regex(host, &node_map));
  EXPECT_SUCCESS(PMIx_generate_ppn(peers, &proc_map));

  enum { fixed = 8 };
  const pmix_rank_t leader = 0;
  const size_t ninfo = fixed + n;
  pmix_info_t* info = NULL;
  PMIX_INFO_CREATE(info, ninfo);
  load_number(&info[0], PMIX_UNIV_SIZE, n);
  load_number(&info[1], PMIX_JOB_SIZE, n);
  load_number(&info[2], PMIX_MAX_PROCS, n);
  load_number(&info[3], PMIX_LOCAL_SIZE, n);
  PMIX_INFO_LOAD(&info[4], PMIX_LOCAL_PEERS, peers, PMIX_STRING);
  PMIX_INFO_LOAD(&info[5], PMIX_NODE_MAP, node_map, PMIX_REGEX);
  PMIX_INFO_LOAD(&info[6], PMIX_PROC_MAP, proc_map, PMIX_REGEX);
  PMIX_INFO_LOAD(&info[7], PMIX_LOCALLDR, &leader, PMIX_PROC_RANK);
  for (uint32_t i = 0; i < n; ++i) {
    load_rank(&info[fixed + i], i);
  }

  answer_t answer = ANSWER_INIT;
  EXPECT_SUCCESS(wait_for(PMIx_server_register_nspace(job, (int)n, info, ninfo, op_done, &answer), &answer));
  PMIX_INFO_FREE(info, ninfo);
  PMIX_ARGV_FREE(ranks);
  free(node_map);
  free(proc_map);
  free(peers);
}

static pid_t start(pmix_rank_t rank, char** command) {
  extern char** environ;
  pmix_proc_t proc;
  char** env = NULL;
  answer_t answer = ANSWER_INIT;
  PMIX_PROC_LOAD(&proc, job, rank);
  EXPECT_SUCCESS(
      wait_for(PMIx_server_register_client(&proc, geteuid(), getegid(), NULL, op_done, &answer), &answer));
  PMIX_ARGV_COPY(env, environ);
  EXPECT_SUCCESS(PMIx_server_setup_fork(&proc, &env));
  const pid_t child = fork();
  EXPECT(0 <= child);
  if (0 == child) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing outlives a host that gave up
    execve(command[0], command, env);
    _exit(127);
  }
  PMIX_ARGV_FREE(env);
  return child;
}

int main(int argc, char** argv) {
  EXPECT(3 == argc);
  const uint32_t n = (uint32_t)strtoul(argv[1], NULL, 10);
  char* command[] = {argv[2], argv[1], NULL};
  alarm(watchdog_seconds);

  static pmix_server_module_t module;
  module.client_connected2 = client_connected;
  module.client_finalized = client_finalized;
  module.fence_nb = fence_nb;
  module.direct_modex = direct_modex;
  EXPECT_SUCCESS(PMIx_server_init(&module, NULL, 0));
  register_job(n);
  for (pmix_rank_t rank = 0; rank < n; ++rank) {
    start(rank, command);
  }

  int status = 0, failed = 0;
  for (uint32_t i = 0; i < n; ++i) {
    EXPECT(0 < wait(&status));
    failed += 0 != status;
  }
  EXPECT(0 == failed);
  pthread_mutex_lock(&mutex);
  EXPECT((int)n == connected && (int)n == finalized);
  pthread_mutex_unlock(&mutex);

  answer_t answer = ANSWER_INIT;
  PMIx_server_deregister_nspace(job, op_done, &answer);
  EXPECT_SUCCESS(wait_for(PMIX_SUCCESS, &answer));
  EXPECT_SUCCESS(PMIx_server_finalize());
  printf("ok skew_server %u on %s\n", (unsigned)n, library_path());
  return 0;
}
