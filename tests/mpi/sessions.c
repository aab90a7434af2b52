// SPDX-License-Identifier: BSD-3-Clause
// A session (MPI 4): process sets by name, communicators of them and of a part, without MPI_COMM_WORLD.
// The first argument is the number of ranks that must be in mpi://WORLD. One session in a process: of several
// in a row Open MPI 5.0.7's shared memory loses some, under its own mpirun, too (docs/design/openmpi.md).
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static int rank = -1, size;

#define CHECK(condition)                                                                                 \
  do {                                                                                                   \
    if (!(condition)) {                                                                                  \
      fprintf(stderr, "sessions.c:%d: rank %d of %d: not true: %s\n", __LINE__, rank, size, #condition); \
      exit(1);                                                                                           \
    }                                                                                                    \
  } while (0)
#define WORKS(call) CHECK((call) == MPI_SUCCESS)

static int sum_of_ones(MPI_Comm comm) {
  int one = 1, sum = 0;
  WORKS(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  return sum;
}

/// The number is asked for, and each set by its number: the two that the MPI Standard names are among them.
static void sets_are_known(MPI_Session session) {
  int count = 0, world = 0, self = 0;
  WORKS(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count));
  CHECK(count >= 2 && count < 100);
  for (int n = 0; n < count; ++n) {
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = sizeof name;
    WORKS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name));
    world += strcasecmp(name, "mpi://WORLD") == 0;
    self += strcasecmp(name, "mpi://SELF") == 0;
  }
  CHECK(world == 1 && self == 1);
}

static void ranks_meet(MPI_Comm comm) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  int got = -1;
  CHECK(sum_of_ones(comm) == size);
  WORKS(MPI_Sendrecv(&rank, 1, MPI_INT, next, 1, &got, 1, MPI_INT, previous, 1, comm, MPI_STATUS_IGNORE));
  CHECK(got == previous);
}

/// The first half of the ranks makes a communicator of its own; the others do not take part.
static void half_meets(MPI_Group world) {
  int range[1][3] = {{0, (size - 1) / 2, 1}}, mine = MPI_UNDEFINED;
  MPI_Group half;
  MPI_Comm comm;
  WORKS(MPI_Group_range_incl(world, 1, range, &half));
  WORKS(MPI_Group_rank(half, &mine));
  if (mine != MPI_UNDEFINED) {
    WORKS(MPI_Comm_create_from_group(half, "half", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    CHECK(sum_of_ones(comm) == (size - 1) / 2 + 1);
    WORKS(MPI_Comm_free(&comm));
  }
  WORKS(MPI_Group_free(&half));
}

static void one_session(int wanted) {
  MPI_Session session;
  MPI_Group world;
  MPI_Comm comm;
  WORKS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  sets_are_known(session);
  WORKS(MPI_Group_from_session_pset(session, "mpi://WORLD", &world));
  WORKS(MPI_Group_size(world, &size));
  WORKS(MPI_Group_rank(world, &rank));
  CHECK(size == wanted);
  WORKS(MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  ranks_meet(comm);
  half_meets(world);
  CHECK(sum_of_ones(comm) == size);  // the ranks end together
  WORKS(MPI_Comm_free(&comm));
  WORKS(MPI_Group_free(&world));
  WORKS(MPI_Session_finalize(&session));
}

int main(int argc, char** argv) {
  CHECK(argc > 1);
  one_session(atoi(argv[1]));
  if (rank == 0) printf("ok sessions %d\n", size);
  return 0;
}
