// SPDX-License-Identifier: BSD-3-Clause
// What the MPI programs share. Every program gets the number of ranks it must see as its first argument, so
// that N singletons, each of them happy with its own MPI_COMM_WORLD of one, fail loudly. The second argument
// is the number of ranks on each node, which follow each other.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "library.h"

static int rank, size, on_each_node;

/// Ends the job with a line that says where. Never returns.
static inline void failed(const char* file, int line, const char* what) {
  fprintf(stderr, "%s:%d: rank %d of %d: %s\n", file, line, rank, size, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}
#define CHECK(condition) ((condition) ? (void)0 : failed(__FILE__, __LINE__, "not true: " #condition))

/// Where WEFT_TEST_LIBRARY names a file, each rank and its server (the parent) must have that file as their
/// libpmix, and rank 0 says so: tests/foreign waits for the line.
static inline void check_library(void) {
  const char* wanted = getenv("WEFT_TEST_LIBRARY");
  if (wanted == NULL) return;
  CHECK(has_library(getpid(), wanted));
  CHECK(has_library(getppid(), wanted));
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("libpmix of %d ranks: %s\n", size, wanted);
  fflush(stdout);
}

/// MPI_Init, rank, size and on_each_node; fails unless there are as many ranks as the first argument says.
static inline void start(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s number-of-ranks ranks-on-each-node\n", argv[0]);
    exit(2);
  }
  on_each_node = atoi(argv[2]);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != atoi(argv[1])) {
    fprintf(stderr, "%s: MPI sees %d ranks instead of %s: these are singletons or another job\n", argv[0],
            size, argv[1]);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
  }
  check_library();
}

/// All ranks come here; one line per program, which run.sh looks for.
static inline int finish(const char* name) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("ok %s %d\n", name, size);
  MPI_Finalize();
  return 0;
}
