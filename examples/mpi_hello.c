// SPDX-License-Identifier: BSD-3-Clause
// An MPI program like any other; nothing in it knows of Weft. Each rank says where it is, a token goes round
// the ring, and an allreduce is checked. With a number as argument it fails unless the job has that many
// ranks: an MPI library that found no server runs each process as a job of one, and all else would look fine.
//
//   mpicc -O2 mpi_hello.c -o mpi_hello && weftrun -n 8 ./mpi_hello 8
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

enum { line_length = 200, ring_tag = 1, rounds = 100 };

// Sends a number once round all ranks, each adding its own; returns the sum at rank 0.
static long pass_round_ring(int rank, int size) {
  long sum = 0;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  if (rank != 0) MPI_Recv(&sum, 1, MPI_LONG, left, ring_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sum += rank;
  MPI_Send(&sum, 1, MPI_LONG, right, ring_tag, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&sum, 1, MPI_LONG, left, ring_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return sum;
}

static void fail(const char* what, long found, long wanted) {
  fprintf(stderr, "mpi_hello: %s is %ld, should be %ld\n", what, found, wanted);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, local_rank, local_size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && size != atoi(argv[1])) fail("the size of MPI_COMM_WORLD", size, atoi(argv[1]));

  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_size(node, &local_size);
  MPI_Comm_free(&node);

  const long wanted = (long)size * (size - 1) / 2;
  const long around = pass_round_ring(rank, size);
  if (rank == 0 && around != wanted) fail("the sum round the ring", around, wanted);
  long mine = rank, sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const double allreduce_us = (MPI_Wtime() - start) / rounds * 1e6;
  if (sum != wanted) fail("the allreduce", sum, wanted);

  // Rank 0 prints for all, so that the lines come in order.
  char host[64] = "?", line[line_length] = "";
  gethostname(host, sizeof host - 1);
  snprintf(line, sizeof line, "MPI rank %d of %d on %s, pid %d: %d of %d on this node", rank, size, host,
           (int)getpid(), local_rank, local_size);
  char* lines = rank == 0 ? calloc((size_t)size, line_length) : NULL;
  MPI_Gather(line, line_length, MPI_CHAR, lines, line_length, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < size; ++i) puts(lines + (size_t)i * line_length);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';
    printf("\nring and allreduce: both %ld, as they should be; %.1f us an allreduce (%s)\n", sum,
           allreduce_us, version);
  }
  free(lines);
  MPI_Finalize();
  return 0;
}
