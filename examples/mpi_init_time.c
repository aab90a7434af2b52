// SPDX-License-Identifier: BSD-3-Clause
// How long MPI_Init takes: prints the slowest rank's milliseconds.
//
//   mpicc -O2 mpi_init_time.c -o mpi_init_time && weftrun -n 8 ./mpi_init_time
#include <stdio.h>
#include <time.h>

#include <mpi.h>

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  const double start = now_ms();
  MPI_Init(&argc, &argv);
  const double mine = now_ms() - start;
  double slowest = 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.1f\n", slowest);
  MPI_Finalize();
  return 0;
}
