// SPDX-License-Identifier: BSD-3-Clause
// The number of this rank, how many ranks there are, which of them share a node.
#include <string.h>
#include <unistd.h>

#include "check.h"

static void ranks_are_unique(void) {
  int* seen = calloc((size_t)size, sizeof *seen);
  CHECK(rank >= 0 && rank < size);
  seen[rank] = 1;
  MPI_Allreduce(MPI_IN_PLACE, seen, size, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(seen[r] == 1);
  free(seen);
}

static void processes_are_different(void) {
  int* pids = calloc((size_t)size, sizeof *pids);
  const int mine = (int)getpid();
  MPI_Allgather(&mine, 1, MPI_INT, pids, 1, MPI_INT, MPI_COMM_WORLD);
  for (int a = 0; a < size; ++a) {
    for (int b = a + 1; b < size; ++b) CHECK(pids[a] != pids[b]);
  }
  free(pids);
}

static void names_agree_on(MPI_Comm node) {
  char mine[MPI_MAX_PROCESSOR_NAME] = "", host[MPI_MAX_PROCESSOR_NAME] = "", first[MPI_MAX_PROCESSOR_NAME];
  int length = 0;
  MPI_Get_processor_name(mine, &length);
  CHECK(length > 0 && (size_t)length == strlen(mine));
  CHECK(gethostname(host, sizeof host - 1) == 0);
  CHECK(strncmp(mine, host, strlen(mine)) == 0);
  memcpy(first, mine, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, node);
  CHECK(strcmp(first, mine) == 0);
}

/// The ranks that share a node are those that were put there, no more and no less.
static void ranks_are_on(MPI_Comm node) {
  int local_rank = -1, local_size = -1, first = rank, last = rank;
  MPI_Comm_rank(node, &local_rank);
  MPI_Comm_size(node, &local_size);
  CHECK(local_size == on_each_node);
  CHECK(local_rank == rank % on_each_node);  // key 0 keeps the order
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, node);
  MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT, MPI_MAX, node);
  CHECK(first == rank - local_rank && last == first + on_each_node - 1);
  const char* from_launcher = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
  if (from_launcher != NULL) CHECK(atoi(from_launcher) == local_rank);
}

static void attributes_are_there(void) {
  int *universe = NULL, *tag_ub = NULL, found = 0, version = 0, subversion = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &found);
  CHECK(found && *tag_ub >= 32767);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &found);
  if (found) CHECK(*universe > 0);  // slots, which may be fewer than ranks
  MPI_Get_version(&version, &subversion);
  CHECK(version >= 3);
}

int main(int argc, char** argv) {
  start(argc, argv);
  ranks_are_unique();
  processes_are_different();
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  names_agree_on(node);
  ranks_are_on(node);
  MPI_Comm_free(&node);
  attributes_are_there();
  return finish("hello");
}
