// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 reads standard input to its end; all ranks agree on what it was, and the first prints how many bytes
// and their sum.
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  start(argc, argv);
  unsigned long long seen[2] = {0, 0}, sum[2];
  unsigned char bytes[65536];
  for (ssize_t got; (got = read(0, bytes, sizeof bytes)) > 0;) {
    seen[0] += (unsigned long long)got;
    for (ssize_t i = 0; i < got; ++i) seen[1] += bytes[i];
  }
  CHECK(rank == 0 || seen[0] == 0);  // the others have none
  MPI_Allreduce(seen, sum, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("input %llu %llu\n", sum[0], sum[1]);
  return finish("input");
}
