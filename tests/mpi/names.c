// SPDX-License-Identifier: BSD-3-Clause
// Names of services: the first rank publishes one, all find it, and it is gone when it is taken back. Then
// the first half of the ranks accept the second half at a port that these have looked up.
#include <string.h>

#include "check.h"

/// The ranks that neither publish nor connect find the name as well.
static void names(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    snprintf(port, sizeof port, "the-port-of-rank-0");
    CHECK(MPI_Publish_name("a service", MPI_INFO_NULL, port) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Lookup_name("a service", MPI_INFO_NULL, found) == MPI_SUCCESS);
  CHECK(strcmp(found, "the-port-of-rank-0") == 0);
  CHECK(MPI_Lookup_name("another service", MPI_INFO_NULL, found) != MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(MPI_Unpublish_name("a service", MPI_INFO_NULL, port) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(MPI_Lookup_name("a service", MPI_INFO_NULL, found) != MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// The communicator of both halves.
static void accept_and_connect(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm half, other;
  const int is_server = rank < size / 2;
  int sum = 0, of_other = 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_server, rank, &half);
  if (rank == 0) {
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Publish_name("meeting", MPI_INFO_NULL, port) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (!is_server) CHECK(MPI_Lookup_name("meeting", MPI_INFO_NULL, port) == MPI_SUCCESS);
  if (is_server)
    CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other) == MPI_SUCCESS);
  else
    CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other) == MPI_SUCCESS);
  MPI_Comm_remote_size(other, &of_other);
  CHECK(of_other == (is_server ? size - size / 2 : size / 2));
  MPI_Comm all;
  CHECK(MPI_Intercomm_merge(other, !is_server, &all) == MPI_SUCCESS);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_free(&all);
  CHECK(MPI_Comm_disconnect(&other) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    CHECK(MPI_Unpublish_name("meeting", MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
  }
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  start(argc, argv);
  names();
  accept_and_connect();
  return finish("names");
}
