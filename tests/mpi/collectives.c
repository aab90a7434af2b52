// SPDX-License-Identifier: BSD-3-Clause
// Every collective on numbers whose results can be written down: element i of rank r is r * 1000 + i.
#include <string.h>

#include "check.h"

enum { count = 5 };

static int element(int r, int i) {
  return r * 1000 + i;
}
/// Sum over ranks 0..last of element(r, i).
static int sum_up_to(int last, int i) {
  return 1000 * (last * (last + 1) / 2) + (last + 1) * i;
}

static int* numbers(int n) {
  int* out = malloc((size_t)(n > 0 ? n : 1) * sizeof *out);
  for (int i = 0; i < n; ++i) out[i] = -1;
  return out;
}
static int* mine(int n) {
  int* out = numbers(n);
  for (int i = 0; i < n; ++i) out[i] = element(rank, i);
  return out;
}

static void broadcast(MPI_Comm comm) {
  for (int root = 0; root < size; ++root) {
    int data[count];
    for (int i = 0; i < count; ++i) data[i] = rank == root ? element(root, i) : -1;
    MPI_Bcast(data, count, MPI_INT, root, comm);
    for (int i = 0; i < count; ++i) CHECK(data[i] == element(root, i));
  }
  const int large = 1 << 17;
  int* data = numbers(large);
  if (rank == 0) {
    for (int i = 0; i < large; ++i) data[i] = i;
  }
  MPI_Bcast(data, large, MPI_INT, 0, comm);
  for (int i = 0; i < large; ++i) CHECK(data[i] == i);
  free(data);
}

static void reductions(MPI_Comm comm) {
  int* in = mine(count);
  int out[count];
  MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, size - 1, comm);
  if (rank == size - 1) {
    for (int i = 0; i < count; ++i) CHECK(out[i] == sum_up_to(size - 1, i));
  }
  MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) CHECK(out[i] == sum_up_to(size - 1, i));
  MPI_Allreduce(in, out, count, MPI_INT, MPI_MAX, comm);
  for (int i = 0; i < count; ++i) CHECK(out[i] == element(size - 1, i));
  MPI_Scan(in, out, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i) CHECK(out[i] == sum_up_to(rank, i));
  MPI_Exscan(in, out, count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; rank > 0 && i < count; ++i) CHECK(out[i] == sum_up_to(rank - 1, i));
  struct {
    double value;
    int where;
  } place = {(double)(rank == size / 2 ? -1 : rank), rank}, least;
  MPI_Allreduce(&place, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  CHECK(least.where == size / 2 && least.value == -1.0);
  free(in);
}

static void reduce_scatter(MPI_Comm comm) {
  int* lengths = numbers(size);
  int total = 0, before = 0;
  for (int r = 0; r < size; ++r) {
    lengths[r] = r % 3 + 1;
    if (r < rank) before += lengths[r];
    total += lengths[r];
  }
  int* in = mine(total);
  int* out = numbers(lengths[rank]);
  MPI_Reduce_scatter(in, out, lengths, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < lengths[rank]; ++i) CHECK(out[i] == sum_up_to(size - 1, before + i));
  int* block = mine(size);
  int one = -1;
  MPI_Reduce_scatter_block(block, &one, 1, MPI_INT, MPI_SUM, comm);
  CHECK(one == sum_up_to(size - 1, rank));
  free(lengths), free(in), free(out), free(block);
}

static void gathers(MPI_Comm comm) {
  int* in = mine(count);
  int* all = numbers(size * count);
  MPI_Gather(in, count, MPI_INT, all, count, MPI_INT, 0, comm);
  for (int r = 0; rank == 0 && r < size; ++r) {
    for (int i = 0; i < count; ++i) CHECK(all[r * count + i] == element(r, i));
  }
  memset(all, 0xff, (size_t)(size * count) * sizeof *all);
  MPI_Allgather(in, count, MPI_INT, all, count, MPI_INT, comm);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < count; ++i) CHECK(all[r * count + i] == element(r, i));
  }
  free(in), free(all);
}

/// Rank r contributes r % 3 + 1 numbers; one gap between the blocks shows writes outside of them.
static int irregular(int** lengths, int** offsets) {
  *lengths = numbers(size);
  *offsets = numbers(size);
  int at = 0;
  for (int r = 0; r < size; ++r) {
    (*lengths)[r] = r % 3 + 1;
    (*offsets)[r] = at;
    at += (*lengths)[r] + 1;
  }
  return at;
}

static void check_blocks(const int* all, const int* lengths, const int* offsets) {
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < lengths[r]; ++i) CHECK(all[offsets[r] + i] == element(r, i));
    CHECK(all[offsets[r] + lengths[r]] == -1);
  }
}

static void irregular_gathers(MPI_Comm comm) {
  int *lengths, *offsets;
  const int total = irregular(&lengths, &offsets);
  int* in = mine(lengths[rank]);
  int* all = numbers(total);
  MPI_Gatherv(in, lengths[rank], MPI_INT, all, lengths, offsets, MPI_INT, 0, comm);
  if (rank == 0) check_blocks(all, lengths, offsets);
  int* again = numbers(total);
  MPI_Allgatherv(in, lengths[rank], MPI_INT, again, lengths, offsets, MPI_INT, comm);
  check_blocks(again, lengths, offsets);
  free(lengths), free(offsets), free(in), free(all), free(again);
}

static void scatters(MPI_Comm comm) {
  int* all = numbers(size * count);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < count; ++i) all[r * count + i] = element(r, i);
  }
  int out[count];
  MPI_Scatter(all, count, MPI_INT, out, count, MPI_INT, 0, comm);
  for (int i = 0; i < count; ++i) CHECK(out[i] == element(rank, i));
  int *lengths, *offsets;
  const int total = irregular(&lengths, &offsets);
  int* source = numbers(total);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i < lengths[r]; ++i) source[offsets[r] + i] = element(r, i);
  }
  int* part = numbers(lengths[rank]);
  MPI_Scatterv(source, lengths, offsets, MPI_INT, part, lengths[rank], MPI_INT, 0, comm);
  for (int i = 0; i < lengths[rank]; ++i) CHECK(part[i] == element(rank, i));
  free(all), free(lengths), free(offsets), free(source), free(part);
}

static void all_to_all(MPI_Comm comm) {
  int* out = mine(size);  // out[r] goes to rank r
  int* in = numbers(size);
  MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
  for (int r = 0; r < size; ++r) CHECK(in[r] == element(r, rank));
  // Rank a sends b + 1 numbers to rank b, so what arrives here has rank + 1 from every rank.
  int *send_lengths = numbers(size), *send_at = numbers(size), *lengths = numbers(size), *at = numbers(size);
  int total = 0;
  for (int r = 0; r < size; ++r) {
    send_lengths[r] = r + 1;
    send_at[r] = total;
    total += r + 1;
    lengths[r] = rank + 1;
    at[r] = r * (rank + 1);
  }
  int* sent = mine(total);
  int* got = numbers(size * (rank + 1));
  MPI_Alltoallv(sent, send_lengths, send_at, MPI_INT, got, lengths, at, MPI_INT, comm);
  for (int r = 0; r < size; ++r) {
    for (int i = 0; i <= rank; ++i) CHECK(got[at[r] + i] == element(r, send_at[rank] + i));
  }
  free(out), free(in), free(send_lengths), free(send_at), free(lengths), free(at), free(sent), free(got);
}

static void non_blocking(MPI_Comm comm) {
  int* in = mine(count);
  int out[count], root_value = rank == 0 ? 4711 : -1;
  MPI_Request requests[3];
  MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Ibcast(&root_value, 1, MPI_INT, 0, comm, &requests[1]);
  MPI_Ibarrier(comm, &requests[2]);
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; ++i) CHECK(out[i] == sum_up_to(size - 1, i));
  CHECK(root_value == 4711);
  free(in);
}

static void on(MPI_Comm comm) {
  MPI_Barrier(comm);
  broadcast(comm);
  reductions(comm);
  reduce_scatter(comm);
  gathers(comm);
  irregular_gathers(comm);
  scatters(comm);
  all_to_all(comm);
  non_blocking(comm);
  MPI_Barrier(comm);
}

static void duplicates_and_halves(void) {
  MPI_Comm copy, half;
  const int world_rank = rank, world_size = size;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  on(copy);
  // Key -rank turns the order round.
  MPI_Comm_split(copy, rank % 2, -rank, &half);
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &size);
  const int members = world_rank % 2 == 0 ? (world_size + 1) / 2 : world_size / 2;
  CHECK(size == members && rank == members - 1 - world_rank / 2);
  on(half);
  rank = world_rank;
  size = world_size;
  MPI_Comm_free(&half);
  MPI_Comm_free(&copy);
}

static void between_halves(void) {
  if (size < 2) return;
  MPI_Comm half, other;
  int remote = -1, sum = -1;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 99, &other);
  MPI_Comm_remote_size(other, &remote);
  CHECK(remote == (rank % 2 == 0 ? size / 2 : (size + 1) / 2));
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, other);  // the sum over the other side
  int expected = 0;
  for (int r = 1 - rank % 2; r < size; r += 2) expected += r;
  CHECK(sum == expected);
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  start(argc, argv);
  on(MPI_COMM_WORLD);
  duplicates_and_halves();
  between_halves();
  return finish("collectives");
}
