// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed while the others wait for it; the job must end with its signal.
#include <signal.h>

#include "check.h"

int main(int argc, char** argv) {
  start(argc, argv);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  printf("rank %d went on after the death\n", rank);
  MPI_Finalize();
  return 0;
}
