// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication under the three kinds of synchronization.
#include "check.h"

static MPI_Win window(int** memory, int n) {
  MPI_Win out;
  MPI_Win_allocate((MPI_Aint)((size_t)n * sizeof(int)), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, memory,
                   &out);
  for (int i = 0; i < n; ++i) (*memory)[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  return out;
}

static void with_fence(void) {
  int* memory;
  MPI_Win win = window(&memory, size + 1);
  const int mine = rank * 10 + 1;
  MPI_Win_fence(0, win);
  for (int r = 0; r < size; ++r) MPI_Put(&mine, 1, MPI_INT, r, rank, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  for (int r = 0; r < size; ++r) CHECK(memory[r] == r * 10 + 1);
  int seen = -1;
  const int next = (rank + 1) % size;
  MPI_Get(&seen, 1, MPI_INT, next, next, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  CHECK(seen == next * 10 + 1);
  memory[size] = 0;
  MPI_Win_fence(0, win);
  const int one = rank + 1;
  MPI_Accumulate(&one, 1, MPI_INT, 0, size, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  if (rank == 0) CHECK(memory[size] == size * (size + 1) / 2);
  MPI_Win_free(&win);
}

static void with_locks(void) {
  enum { times = 20 };
  int* memory;
  MPI_Win win = window(&memory, 2);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  memory[0] = memory[1] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const int one = 1;
  int before = -1;
  for (int i = 0; i < times; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    CHECK(before >= 0 && before < size * times);
    // Read and write back: only an exclusive lock makes it safe.
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    int value = -1;
    MPI_Get(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    ++value;
    MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    CHECK(memory[0] == size * times && memory[1] == size * times);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}

/// Every rank exposes to the rank before and writes to the next.
static void with_post_and_start(void) {
  int* memory;
  MPI_Win win = window(&memory, 1);
  MPI_Group world, to, from;
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &before, &from);
  for (int round = 0; round < 10; ++round) {
    const int mine = rank * 100 + round;
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    MPI_Put(&mine, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    CHECK(memory[0] == before * 100 + round);
  }
  MPI_Group_free(&to), MPI_Group_free(&from), MPI_Group_free(&world);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  start(argc, argv);
  CHECK(size > 1);
  with_fence();
  with_locks();
  with_post_and_start();
  return finish("onesided");
}
