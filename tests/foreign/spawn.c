// SPDX-License-Identifier: BSD-3-Clause
// The ranks start two more processes of this program; parents and children talk over the communicator between
// them.
#include <string.h>

#include "check.h"

enum { children = 2 };

/// A sum over both sides, each of which gets that of the other.
static void talk(MPI_Comm between, int mine, int expected) {
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between);
  CHECK(sum == expected);
  MPI_Barrier(between);
  MPI_Comm_disconnect(&between);
}

static int child(MPI_Comm parent, int parents) {
  int others = 0;
  MPI_Comm_remote_size(parent, &others);
  CHECK(size == children && others == parents);
  talk(parent, 100, parents);
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  if (argc > 3 && strcmp(argv[1], "child") == 0) {
    start(argc - 1, argv + 1);
    MPI_Comm_get_parent(&parent);
    CHECK(parent != MPI_COMM_NULL);
    return child(parent, atoi(argv[3]));
  }
  start(argc, argv);
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  char count[16], parents[16];
  snprintf(count, sizeof count, "%d", children);
  snprintf(parents, sizeof parents, "%d", size);
  char* words[] = {"child", count, parents, NULL};
  int errors[children];
  MPI_Comm between;
  MPI_Comm_spawn(argv[0], words, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, errors);
  for (int i = 0; i < children; ++i) CHECK(errors[i] == MPI_SUCCESS);
  talk(between, 1, 100 * children);
  return finish("spawn");
}
