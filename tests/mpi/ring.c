// SPDX-License-Identifier: BSD-3-Clause
// A token goes round three times, small (eager) and large (rendezvous); then all ranks send at once.
#include <string.h>

#include "check.h"

enum { rounds = 3, large = 1 << 18 };

static void token(int count) {
  int* data = malloc((size_t)count * sizeof *data);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (int round = 0; round < rounds; ++round) {
    if (rank == 0) {
      for (int i = 0; i < count; ++i) data[i] = round + i;
      MPI_Send(data, count, MPI_INT, next, round, MPI_COMM_WORLD);
    }
    MPI_Status status;
    MPI_Recv(data, count, MPI_INT, before, round, MPI_COMM_WORLD, &status);
    int got = 0;
    MPI_Get_count(&status, MPI_INT, &got);
    CHECK(got == count && status.MPI_SOURCE == before && status.MPI_TAG == round);
    // Each rank on the way has added one; rank 0 sees the token after the others.
    const int added = rank == 0 ? size - 1 : rank - 1;
    CHECK(data[0] == round + added && data[count - 1] == round + count - 1 + added);
    if (rank == 0) continue;
    for (int i = 0; i < count; ++i) ++data[i];
    MPI_Send(data, count, MPI_INT, next, round, MPI_COMM_WORLD);
  }
  free(data);
}

static void all_at_once(void) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  int out = rank, in = -1;
  MPI_Request requests[2];
  for (int round = 0; round < 200; ++round) {
    out = rank * 1000 + round;
    MPI_Irecv(&in, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == before * 1000 + round);
  }
}

int main(int argc, char** argv) {
  start(argc, argv);
  CHECK(size > 1);
  token(1);
  token(large);
  all_at_once();
  return finish("ring");
}
