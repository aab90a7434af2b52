// SPDX-License-Identifier: BSD-3-Clause
// Prints "up" on rank 0 once MPI_Init is over at all ranks, and waits until its standard input ends.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank = 0;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    puts("up");
    fflush(stdout);
    while (getchar() != EOF) continue;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
