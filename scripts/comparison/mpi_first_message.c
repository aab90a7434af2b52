// SPDX-License-Identifier: BSD-3-Clause
// What the first messages of an MPI program cost, and what the MPI library asks PMIx for them. The slowest
// rank's times in nanoseconds, and the sums of calls over all ranks, on one line of rank 0:
//   first_message INIT FIRST SECOND ALL ALL_AGAIN OWN_GETS JOB_GETS PEER_GETS PEER_GETS_AFTER_INIT FENCES
// FIRST, SECOND: a byte to the rank half the job away, and one back. ALL: a byte to and from every rank.
// PMIx_Get, PMIx_Get_nb and PMIx_Fence_nb of this program count and call the library's: link it with
// -rdynamic -ldl, so that the MPI library finds these.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OWN, JOB, PEER, PEER_AFTER_INIT, FENCES, KINDS };
static long long calls[KINDS];
static pmix_proc_t me;
static int is_up;

static void* function(const char* name) {
  void* const library = dlopen("libpmix.so.2", RTLD_NOLOAD | RTLD_LAZY);
  void* const found = library != NULL ? dlsym(library, name) : NULL;
  if (found == NULL) {
    fprintf(stderr, "mpi_first_message: there is no %s in a libpmix.so.2 of this process\n", name);
    exit(1);
  }
  return found;
}

static void count(const pmix_proc_t* proc) {
  if (proc == NULL || proc->rank == me.rank)
    ++calls[OWN];
  else if (proc->rank == PMIX_RANK_WILDCARD)
    ++calls[JOB];
  else
    ++calls[is_up ? PEER_AFTER_INIT : PEER];
}

pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
  pmix_status_t (*const real)(pmix_proc_t*, pmix_info_t*, size_t) = function("PMIx_Init");
  pmix_proc_t mine;
  const pmix_status_t status = real(&mine, info, ninfo);
  if (status == PMIX_SUCCESS) me = mine;
  if (proc != NULL) *proc = mine;
  return status;
}

pmix_status_t PMIx_Get(const pmix_proc_t* proc, const pmix_key_t key, const pmix_info_t info[], size_t ninfo,
                       pmix_value_t** value) {
  pmix_status_t (*const real)(const pmix_proc_t*, const char*, const pmix_info_t*, size_t, pmix_value_t**) =
      function("PMIx_Get");
  count(proc);
  return real(proc, key, info, ninfo, value);
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const pmix_key_t key, const pmix_info_t info[],
                          size_t ninfo, pmix_value_cbfunc_t done, void* data) {
  pmix_status_t (*const real)(const pmix_proc_t*, const char*, const pmix_info_t*, size_t,
                              pmix_value_cbfunc_t, void*) = function("PMIx_Get_nb");
  count(proc);
  return real(proc, key, info, ninfo, done, data);
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t done, void* data) {
  pmix_status_t (*const real)(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, pmix_op_cbfunc_t,
                              void*) = function("PMIx_Fence_nb");
  ++calls[FENCES];
  return real(procs, nprocs, info, ninfo, done, data);
}

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char** argv) {
  long long times[5], slowest[5], sums[KINDS];
  const long long start = now();
  MPI_Init(&argc, &argv);
  times[0] = now() - start;
  is_up = 1;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int peer = (rank + size / 2) % size;
  char out = 1, in;
  for (int i = 1; i <= 2; ++i) {
    const long long begin = now();
    MPI_Sendrecv(&out, 1, MPI_CHAR, peer, 0, &in, 1, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times[i] = now() - begin;
  }
  for (int i = 3; i <= 4; ++i) {
    const long long begin = now();
    for (int step = 1; step < size; ++step)
      MPI_Sendrecv(&out, 1, MPI_CHAR, (rank + step) % size, 1, &in, 1, MPI_CHAR, (rank + size - step) % size,
                   1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times[i] = now() - begin;
  }
  MPI_Reduce(times, slowest, 5, MPI_LONG_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(calls, sums, KINDS, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    printf("first_message");
    for (int i = 0; i < 5; ++i) printf(" %lld", slowest[i]);
    for (int i = 0; i < KINDS; ++i) printf(" %lld", sums[i]);
    printf("\n");
  }
  MPI_Finalize();
  return 0;
}
