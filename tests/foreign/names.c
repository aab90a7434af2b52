// SPDX-License-Identifier: BSD-3-Clause
// Half of the ranks publish a port, the other half look it up and connect to it; they talk, and the name is
// taken back.
#include <string.h>

#include "check.h"

static const char service[] = "weft-test-service";

static void talk(MPI_Comm between, int mine, int expected) {
  int sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, between);
  CHECK(sum == expected);
  MPI_Barrier(between);
  MPI_Comm_disconnect(&between);
}

static void serve(MPI_Comm half, int others) {
  char port[MPI_MAX_PORT_NAME] = "";
  int leader = 0;
  MPI_Comm_rank(half, &leader);
  if (leader == 0) {
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Publish_name(service, MPI_INFO_NULL, port);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // it is there now
  MPI_Comm between;
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between);
  talk(between, 1, 10 * others);
  if (leader == 0) {
    MPI_Unpublish_name(service, MPI_INFO_NULL, port);
    MPI_Close_port(port);
  }
  MPI_Barrier(MPI_COMM_WORLD);  // it is gone now
}

static void use(MPI_Comm half, int others) {
  char port[MPI_MAX_PORT_NAME] = "";
  int leader = 0;
  MPI_Comm_rank(half, &leader);
  MPI_Barrier(MPI_COMM_WORLD);
  if (leader == 0) MPI_Lookup_name(service, MPI_INFO_NULL, port);
  MPI_Comm between;
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &between);
  talk(between, 10, others);
  MPI_Barrier(MPI_COMM_WORLD);
  if (leader != 0) return;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS);
}

int main(int argc, char** argv) {
  start(argc, argv);
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  if (rank % 2 == 0)
    serve(half, size / 2);
  else
    use(half, size - size / 2);
  MPI_Comm_free(&half);
  return finish("names");
}
