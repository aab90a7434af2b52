// SPDX-License-Identifier: BSD-3-Clause
// One rank gives up while the others wait for it; the job must end with its status.
#include "check.h"

int main(int argc, char** argv) {
  start(argc, argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 7);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on after the abort\n", rank);
  MPI_Finalize();
  return 0;
}
