// SPDX-License-Identifier: BSD-3-Clause
// The sum of all ranks is what it should be.
#include <mpi.h>

#include "libpmix_here.h"

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != size * (size - 1) / 2) MPI_Abort(MPI_COMM_WORLD, 1);
  printf("rank %d of %d on %s\n", rank, size, libpmix_here());
  MPI_Finalize();
  return 0;
}
