// SPDX-License-Identifier: BSD-3-Clause
// Times MPI_Comm_spawn of COUNT children by one parent, to the disconnect of both: mpi_spawn COUNT ROUNDS
// prints the seconds of each round, a line each.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  const int count = atoi(argv[1]);
  // Open MPI 5's own launcher binds a child to a core, and has soon no more.
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "bind_to", "none");
  for (int round = atoi(argv[2]); round > 0; --round) {
    const double begin = MPI_Wtime();
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, count, info, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    MPI_Comm_disconnect(&children);
    printf("%.6f\n", MPI_Wtime() - begin);
  }
  MPI_Info_free(&info);
  MPI_Finalize();
  return 0;
}
