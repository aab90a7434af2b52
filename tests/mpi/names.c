// SPDX-License-Identifier: BSD-3-Clause
// Names of services: the first rank publishes one, all find it, and it is gone when it is taken back. Then
// the first half of the ranks accept the second half at a port that these have looked up. Last, the first two
// join over a socket that they have.
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "check.h"

/// Open MPI 5 looks up a name without a range in whatever its stack holds (docs/design/openmpi.md).
static int look_up(const char* name, char* port) {
  MPI_Info in_session;
  MPI_Info_create(&in_session);
  MPI_Info_set(in_session, "range", "session");
  const int status = MPI_Lookup_name(name, in_session, port);
  MPI_Info_free(&in_session);
  return status;
}

/// The ranks that neither publish nor connect find the name as well.
static void names(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME] = "";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    snprintf(port, sizeof port, "the-port-of-rank-0");
    CHECK(MPI_Publish_name("a service", MPI_INFO_NULL, port) == MPI_SUCCESS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(look_up("a service", found) == MPI_SUCCESS);
  CHECK(strcmp(found, "the-port-of-rank-0") == 0);
  CHECK(look_up("another service", found) != MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(MPI_Unpublish_name("a service", MPI_INFO_NULL, port) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(look_up("a service", found) != MPI_SUCCESS);
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
  if (!is_server) CHECK(look_up("meeting", port) == MPI_SUCCESS);
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

/// A socket between the first two ranks, which are on one node. Without a limit: the test has one.
static int socket_of_two(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  const int own = socket(AF_INET, SOCK_STREAM, 0);
  if (rank == 1) {
    MPI_Recv(&address, sizeof address, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(connect(own, (struct sockaddr*)&address, length) == 0);
    return own;
  }
  CHECK(bind(own, (struct sockaddr*)&address, length) == 0 && listen(own, 1) == 0);
  CHECK(getsockname(own, (struct sockaddr*)&address, &length) == 0);
  MPI_Send(&address, sizeof address, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
  const int with_other = accept(own, NULL, NULL);
  close(own);
  return with_other;
}

static void join(void) {
  MPI_Comm other;
  const int by = socket_of_two();
  int of_other = -1;
  CHECK(by >= 0 && MPI_Comm_join(by, &other) == MPI_SUCCESS);
  MPI_Sendrecv(&rank, 1, MPI_INT, 0, 0, &of_other, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE);
  CHECK(of_other == 1 - rank);
  CHECK(MPI_Comm_disconnect(&other) == MPI_SUCCESS);
  close(by);
}

int main(int argc, char** argv) {
  start(argc, argv);
  names();
  accept_and_connect();
  if (rank < 2) join();
  return finish("names");
}
