// SPDX-License-Identifier: BSD-3-Clause
// Ranks whose addresses follow from a rule: a node's net.address, else the first that its daemon has said
// (weft.address), and its net.port with the number of a rank on its node added. They read the rule of all
// others right after PMIx_Init: no Put, no Commit, no fence.
//
//   instant_on_client keys KEY...   prints "rank PEER HOST VALUE..." for each rank: what its node has of KEYs
//   instant_on_client connect       connects with each other rank over TCP; rank 0 prints "connected N"
//                                   exit status 3: a port of the rule is in use by another program
//   instant_on_client spawn KEY     rank 0 spawns `keys KEY` on all nodes; weftrun waits until that has ended
//   instant_on_client measure       prints what a first touch by the rule takes, and a first Get of a card
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pmix.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { port_in_use = 3, most_ranks = 1024 };

static pmix_proc_t me;
static uint32_t job_size;

static void stop(const char* what, const char* why) {
  fprintf(stderr, "rank %u: %s: %s\n", me.rank, what, why);
  exit(1);
}

static pmix_proc_t rank_of_job(uint32_t rank) {
  pmix_proc_t proc = me;
  proc.rank = rank;
  return proc;
}

/// Of a rank, or with of_node of its node, and without a question to another node. NULL: it is not there.
static pmix_value_t* look_up(uint32_t rank, const char* key, bool of_node) {
  pmix_proc_t proc = rank_of_job(rank);
  pmix_info_t infos[2];
  bool yes = true;
  PMIX_INFO_LOAD(&infos[0], PMIX_OPTIONAL, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_NODE_INFO, &yes, PMIX_BOOL);
  pmix_value_t* value = NULL;
  return PMIx_Get(&proc, key, infos, of_node ? 2 : 1, &value) == PMIX_SUCCESS ? value : NULL;
}

/// The text is the caller's. "-": it is not there.
static char* text_of(uint32_t rank, const char* key, bool of_node) {
  pmix_value_t* value = look_up(rank, key, of_node);
  char* text = strdup(value != NULL && value->type == PMIX_STRING ? value->data.string : "-");
  if (value != NULL) PMIX_VALUE_RELEASE(value);
  return text;
}

static uint32_t local_rank_of(uint32_t rank) {
  pmix_value_t* value = look_up(rank, PMIX_LOCAL_RANK, false);
  if (value == NULL || value->type != PMIX_UINT16) stop(PMIX_LOCAL_RANK, "is not there");
  const uint32_t number = value->data.uint16;
  PMIX_VALUE_RELEASE(value);
  return number;
}

/// The rule.
static struct sockaddr_in address_of(uint32_t rank) {
  char* address = text_of(rank, "net.address", true);
  if (address[0] == '-') {
    free(address);
    address = text_of(rank, "weft.address", true);
    address[strcspn(address, ",")] = '\0';
  }
  char* port = text_of(rank, "net.port", true);
  struct sockaddr_in out = {.sin_family = AF_INET};
  out.sin_port = htons((uint16_t)(strtoul(port, NULL, 10) + local_rank_of(rank)));
  if (inet_pton(AF_INET, address, &out.sin_addr) != 1) stop("net.address", address);
  if (port[0] == '-') stop("net.port", "is not there");
  free(address), free(port);
  return out;
}

static void print_keys(int count, char** keys) {
  for (uint32_t rank = 0; rank < job_size; ++rank) {
    char* host = text_of(rank, PMIX_HOSTNAME, false);
    printf("%u %u %s", me.rank, rank, host);
    free(host);
    for (int i = 0; i < count; ++i) {
      char* value = text_of(rank, keys[i], true);
      printf(" %s", value);
      free(value);
    }
    printf("\n");
  }
}

// ---- TCP

static int listening_socket(void) {
  const struct sockaddr_in own = address_of(me.rank);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);  // connections of a trial before
  if (bind(listener, (const struct sockaddr*)&own, sizeof own) != 0 || listen(listener, most_ranks) != 0) {
    if (errno == EADDRINUSE) exit(port_in_use);
    stop("bind", strerror(errno));
  }
  return listener;
}

/// The process of that rank may not be as far yet.
static int connection_to(uint32_t rank) {
  const struct sockaddr_in there = address_of(rank);
  for (;;) {
    const int socket_there = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(socket_there, (const struct sockaddr*)&there, sizeof there) == 0) return socket_there;
    if (errno != ECONNREFUSED) stop("connect", strerror(errno));
    close(socket_there);
    const struct timespec pause = {0, 1000000};
    nanosleep(&pause, NULL);
  }
}

static void connect_with_all(void) {
  const int listener = listening_socket();
  static int out[most_ranks];
  for (uint32_t rank = 0; rank < job_size; ++rank) {
    if (rank == me.rank) continue;
    out[rank] = connection_to(rank);
    const uint32_t words[2] = {me.rank, rank};
    if (write(out[rank], words, sizeof words) != sizeof words) stop("write", strerror(errno));
  }
  static bool has_come[most_ranks];
  for (uint32_t i = 1; i < job_size; ++i) {
    const int in = accept(listener, NULL, NULL);
    uint32_t words[2];
    if (recv(in, words, sizeof words, MSG_WAITALL) != sizeof words) stop("read", strerror(errno));
    if (words[0] >= job_size || words[1] != me.rank || has_come[words[0]]) stop("read", "not for this rank");
    has_come[words[0]] = true;
    close(in);
  }
  for (uint32_t rank = 0; rank < job_size; ++rank)
    if (rank != me.rank) close(out[rank]);
  close(listener);
  if (me.rank == 0) printf("connected %u\n", job_size);
}

// ---- a job of a process

static void spawn(char* program, char* key) {
  if (me.rank != 0) return;
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = program;
  char keys[] = "keys", *words[] = {program, keys, key, NULL};
  app.argv = words;
  app.maxprocs = (int)job_size;
  pmix_info_t by_node;
  PMIX_INFO_LOAD(&by_node, PMIX_MAPBY, "node", PMIX_STRING);
  pmix_nspace_t nspace;
  const pmix_status_t status = PMIx_Spawn(&by_node, 1, &app, 1, nspace);
  PMIX_INFO_DESTRUCT(&by_node);
  if (status != PMIX_SUCCESS) stop("PMIx_Spawn", PMIx_Error_string(status));
}

// ---- costs

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_size(const void* one, const void* other) {
  const double a = *(const double*)one, b = *(const double*)other;
  return a < b ? -1 : a > b;
}

static void print_median(const char* what, double* times, size_t count) {
  qsort(times, count, sizeof *times, by_size);
  printf("%s %zu %.2f\n", what, count, times[count / 2]);
}

/// Of each rank of another node, by turns: where it is, by the rule, and the card that it has put. Each
/// touches what is of that rank for the first time.
static void measure(void) {
  pmix_value_t card;
  char text[160];
  memset(text, 'c', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  PMIX_VALUE_LOAD(&card, text, PMIX_STRING);
  if (PMIx_Put(PMIX_GLOBAL, "net.card", &card) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS)
    stop("PMIx_Put", "has failed");
  PMIX_VALUE_DESTRUCT(&card);
  if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) stop("PMIx_Fence", "has failed");
  static double rule[most_ranks], fetch[most_ranks], again[most_ranks];
  size_t count = 0;
  char* own = text_of(me.rank, PMIX_HOSTNAME, false);
  for (uint32_t rank = 0; rank < job_size && me.rank == 0; ++rank) {
    char* host = text_of(rank, PMIX_HOSTNAME, false);
    const bool is_here = strcmp(host, own) == 0;
    free(host);
    if (is_here) continue;
    for (uint32_t i = 0; i < 2; ++i) {
      const double begun = now_us();
      if ((rank + i) % 2 == 0) {
        address_of(rank);
        rule[count] = now_us() - begun;
      } else {
        pmix_proc_t proc = rank_of_job(rank);
        pmix_value_t* value = NULL;
        if (PMIx_Get(&proc, "net.card", NULL, 0, &value) != PMIX_SUCCESS) stop("net.card", "is not there");
        fetch[count] = now_us() - begun;
        PMIX_VALUE_RELEASE(value);
      }
    }
    const double begun = now_us();
    address_of(rank);
    again[count++] = now_us() - begun;
  }
  free(own);
  if (count != 0) {
    print_median("rule", rule, count);
    print_median("rule_again", again, count);
    print_median("card_on_demand", fetch, count);
  }
  if (PMIx_Fence(NULL, 0, NULL, 0) != PMIX_SUCCESS) stop("PMIx_Fence", "has failed");
}

int main(int argc, char** argv) {
  if (argc < 2 || PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  pmix_value_t* size = look_up(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, false);
  if (size == NULL || size->type != PMIX_UINT32 || size->data.uint32 > most_ranks)
    stop(PMIX_JOB_SIZE, "is not there, or too much");
  job_size = size->data.uint32;
  PMIX_VALUE_RELEASE(size);
  if (strcmp(argv[1], "keys") == 0)
    print_keys(argc - 2, argv + 2);
  else if (strcmp(argv[1], "connect") == 0)
    connect_with_all();
  else if (strcmp(argv[1], "spawn") == 0 && argc == 3)
    spawn(argv[0], argv[2]);
  else if (strcmp(argv[1], "measure") == 0)
    measure();
  else
    stop(argv[1], "is unknown");
  fflush(stdout);
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
