// SPDX-License-Identifier: BSD-3-Clause
// Jobs that a job asks for: all ranks spawn one program, then two programs at a time, talk to the children,
// become one communicator with them, and part. A child of the first kind spawns one more.
#include <string.h>

#include "check.h"

enum { tag = 7 };

/// What both sides do with each other. Returns the number of all processes.
static int meet(MPI_Comm children_or_parents, int are_children) {
  MPI_Comm all;
  int sum = 0, here = 0, there = 0;
  MPI_Comm_size(children_or_parents, &here);
  MPI_Comm_remote_size(children_or_parents, &there);
  MPI_Allreduce(&here, &sum, 1, MPI_INT, MPI_SUM, children_or_parents);
  CHECK(sum == there * there);  // each adds the size of its own side
  MPI_Intercomm_merge(children_or_parents, are_children, &all);
  int one = 1, count = 0;
  MPI_Allreduce(&one, &count, 1, MPI_INT, MPI_SUM, all);
  CHECK(count == here + there);
  MPI_Comm_free(&all);
  return count;
}

static void spawn(char* program, char* word, int count) {
  char* arguments[] = {word, NULL};
  MPI_Comm children;
  int errors[8];
  CHECK(MPI_Comm_spawn(program, arguments, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors) ==
        MPI_SUCCESS);
  for (int i = 0; i < count; ++i) CHECK(errors[i] == MPI_SUCCESS);
  CHECK(meet(children, 0) == size + count);
  int said = 0;
  if (rank == 0) {
    MPI_Recv(&said, 1, MPI_INT, count - 1, tag, children, MPI_STATUS_IGNORE);
    CHECK(said == count);
  }
  MPI_Comm_disconnect(&children);
}

static void spawn_two(char* program) {
  char *programs[] = {program, program}, *last[] = {(char*)"last", NULL}, **arguments[] = {last, last};
  const int counts[] = {1, 2};
  const MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
  MPI_Comm children;
  CHECK(MPI_Comm_spawn_multiple(2, programs, arguments, counts, infos, 0, MPI_COMM_WORLD, &children,
                                MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
  CHECK(meet(children, 0) == size + 3);
  int said = 0;
  if (rank == 0) MPI_Recv(&said, 1, MPI_INT, 2, tag, children, MPI_STATUS_IGNORE);
  MPI_Comm_disconnect(&children);
}

static int be_child(MPI_Comm parents, char** argv) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  // The parent of a child is its server; that of a process without a launcher is a shell.
  const char* library = getenv("WEFT_TEST_LIBRARY_OF_CHILDREN");
  CHECK(library == NULL || (has_library(getpid(), library) && has_library(getppid(), library)));
  meet(parents, 1);
  if (rank == size - 1) MPI_Send(&size, 1, MPI_INT, 0, tag, parents);
  MPI_Comm_disconnect(&parents);
  if (strcmp(argv[1], "first") == 0) spawn(argv[0], (char*)"last", 1);
  MPI_Finalize();
  return 0;
}

int main(int argc, char** argv) {
  MPI_Comm parents = MPI_COMM_NULL;
  if (argc == 2) {
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parents);
    CHECK(parents != MPI_COMM_NULL);
    return be_child(parents, argv);
  }
  start(argc, argv);
  MPI_Comm_get_parent(&parents);
  CHECK(parents == MPI_COMM_NULL);
  spawn(argv[0], (char*)"first", 2);
  spawn_two(argv[0]);
  return finish("spawn");
}
