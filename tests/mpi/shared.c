// SPDX-License-Identifier: BSD-3-Clause
// A shared-memory window of the node: what one rank stores, another of the same node loads, and no other
// node.
#include "check.h"

int main(int argc, char** argv) {
  start(argc, argv);
  enum { per_rank = 1000 };
  MPI_Comm node;
  int local_rank, local_size, *mine = NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_size(node, &local_size);
  CHECK(local_size == on_each_node);
  const int first = rank - local_rank;
  MPI_Win win;
  MPI_Win_allocate_shared(per_rank * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  for (int i = 0; i < per_rank; ++i) mine[i] = rank * per_rank + i;
  MPI_Win_sync(win);
  MPI_Barrier(node);
  MPI_Win_sync(win);
  for (int r = 0; r < local_size; ++r) {
    MPI_Aint bytes = 0;
    int unit = 0, *theirs = NULL;
    MPI_Win_shared_query(win, r, &bytes, &unit, &theirs);
    CHECK(bytes == per_rank * (MPI_Aint)sizeof(int) && unit == (int)sizeof(int));
    for (int i = 0; i < per_rank; ++i) CHECK(theirs[i] == (first + r) * per_rank + i);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
  return finish("shared");
}
