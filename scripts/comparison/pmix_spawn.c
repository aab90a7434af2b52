// SPDX-License-Identifier: BSD-3-Clause
// Times PMIx_Spawn of COUNT children by one parent and PMIx_Connect of parent and children: pmix_spawn COUNT
// ROUNDS prints the seconds of each round, a line each. A child is told "child".
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void must(pmix_status_t status, const char* what) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// All of both jobs, named in one order on both sides.
static void meet(const char* parents, const char* children) {
  pmix_proc_t both[2];
  PMIX_LOAD_PROCID(&both[0], parents, PMIX_RANK_WILDCARD);
  PMIX_LOAD_PROCID(&both[1], children, PMIX_RANK_WILDCARD);
  must(PMIx_Connect(both, 2, NULL, 0), "PMIx_Connect");
}

static void be_child(const pmix_proc_t* me) {
  pmix_value_t* parent;
  must(PMIx_Get(me, PMIX_PARENT_ID, NULL, 0, &parent), "PMIX_PARENT_ID");
  meet(parent->data.proc->nspace, me->nspace);
  PMIX_VALUE_RELEASE(parent);
}

static void spawn(const pmix_proc_t* me, char* program, int count) {
  char* words[] = {program, (char*)"child", NULL};
  pmix_nspace_t children;
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = program;
  app.argv = words;
  app.maxprocs = count;
  must(PMIx_Spawn(NULL, 0, &app, 1, children), "PMIx_Spawn");
  meet(me->nspace, children);
}

int main(int argc, char** argv) {
  pmix_proc_t me;
  if (argc < 2) return 2;
  must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (strcmp(argv[1], "child") == 0) {
    be_child(&me);
  } else {
    for (int round = argc > 2 ? atoi(argv[2]) : 1; round > 0; --round) {
      const double begin = now();
      spawn(&me, argv[0], atoi(argv[1]));
      printf("%.6f\n", now() - begin);
    }
  }
  must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
