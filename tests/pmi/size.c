// SPDX-License-Identifier: BSD-3-Clause
// Ends well if the job has as many ranks as the argument says. Asks for nothing else: a singleton of MPICH
// that is asked for the size of its universe starts a process manager of its own.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Finalize();
  return argc == 2 && size == atoi(argv[1]) ? 0 : 3;
}
