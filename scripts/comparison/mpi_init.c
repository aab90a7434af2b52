// SPDX-License-Identifier: BSD-3-Clause
// How long MPI_Init and MPI_Finalize took in each rank: a line "mpi_init NS NS", in nanoseconds of wall time.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char** argv) {
  const long long start = now();
  MPI_Init(&argc, &argv);
  const long long up = now();
  MPI_Barrier(MPI_COMM_WORLD);  // what the slowest rank costs the others is not their MPI_Finalize
  const long long ready = now();
  MPI_Finalize();
  printf("mpi_init %lld %lld\n", up - start, now() - ready);
  return 0;
}
