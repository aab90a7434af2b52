// SPDX-License-Identifier: BSD-3-Clause
// The business card exchange, as a communication library does it, in the plain PMIx C API.
//
// Each process opens a TCP port on the loopback interface and puts its address on a card. One fence with
// PMIX_COLLECT_DATA makes all cards readable, each process reads all of them, and then calls its right
// neighbour at the address on that card: a card that arrived damaged cannot go unnoticed. Every process
// prints what it did; rank 0 then prints how long each phase took.
//
//   cc -O2 business_card.c -lpmix -o business_card && weftrun -n 8 ./business_card
//
// One host only: the address is 127.0.0.1. It runs under any PMIx launcher.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <pmix.h>

#define CARD_KEY "example.card"
#define TIMES_KEY "example.times"

enum { barriers = 200, answer_within_ms = 20000 };
enum phase { phase_init, phase_put, phase_fence, phase_get, phase_barrier, phases };
static const char* const phase_names[phases] = {
    "PMIx_Init", "Put + Commit of a card", "Fence that collects all cards", "Get of one card", "Barrier",
};

static pmix_proc_t me;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

// A failure ends the whole job: a peer that waits for us in a fence should not wait for ever.
static void die(const char* what, const char* why) {
  char text[256];
  snprintf(text, sizeof text, "rank %" PRIu32 ": %s: %s", me.rank, what, why);
  fprintf(stderr, "business_card: %s\n", text);
  PMIx_Abort(1, text, NULL, 0);
  _exit(1);
}
static void check(pmix_status_t status, const char* what) {
  if (status != PMIX_SUCCESS) die(what, PMIx_Error_string(status));
}
static void check_os(int result, const char* what) {
  if (result < 0) die(what, strerror(errno));
}

// ---- the cards ----

static void put_text(const char* key, char* text) {
  pmix_value_t value;
  PMIX_VALUE_CONSTRUCT(&value);
  value.type = PMIX_STRING;
  value.data.string = text;  // PMIx_Put copies; the text stays ours
  check(PMIx_Put(PMIX_GLOBAL, key, &value), "PMIx_Put");
}

// Copies what `rank` published under `key` into text.
static void get_text(pmix_rank_t rank, const char* key, char* text, size_t length) {
  pmix_proc_t owner;
  PMIX_PROC_CONSTRUCT(&owner);
  PMIX_LOAD_PROCID(&owner, me.nspace, rank);
  pmix_value_t* value = NULL;
  check(PMIx_Get(&owner, key, NULL, 0, &value), "PMIx_Get");
  if (value->type != PMIX_STRING || strlen(value->data.string) >= length)
    die(key, "is not the text that was put");
  strcpy(text, value->data.string);
  PMIX_VALUE_RELEASE(value);
}

static uint32_t job_size(void) {
  pmix_proc_t job;
  PMIX_PROC_CONSTRUCT(&job);
  PMIX_LOAD_PROCID(&job, me.nspace, PMIX_RANK_WILDCARD);
  pmix_value_t* value = NULL;
  check(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value), "PMIx_Get of the job size");
  if (value->type != PMIX_UINT32) die(PMIX_JOB_SIZE, "is not a uint32");
  const uint32_t size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

static void fence(bool collect) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  check(PMIx_Fence(NULL, 0, &info, 1), "PMIx_Fence");  // NULL, 0: my whole job
  PMIX_INFO_DESTRUCT(&info);
}

// ---- what the cards are for ----

// Opens a port that the kernel picks; card becomes its address, e.g. tcp://127.0.0.1:40123.
static int listen_somewhere(char* card, size_t length) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check_os(fd, "socket");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  check_os(bind(fd, (struct sockaddr*)&address, size), "bind");
  check_os(listen(fd, 16), "listen");
  check_os(getsockname(fd, (struct sockaddr*)&address, &size), "getsockname");
  snprintf(card, length, "tcp://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
  return fd;
}

// Calls the process with this card and tells it our rank. The kernel completes the call before the other side
// accepts it, so every rank can call first and answer afterwards.
static void call(const char* card) {
  unsigned port = 0;
  if (sscanf(card, "tcp://127.0.0.1:%u", &port) != 1) die("unreadable card", card);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check_os(fd, "socket");
  check_os(connect(fd, (struct sockaddr*)&address, sizeof address), card);
  if (write(fd, &me.rank, sizeof me.rank) != sizeof me.rank) die("write", card);
  close(fd);
}

// Waits for one call; returns the rank that the caller told.
static uint32_t answer(int listener) {
  struct pollfd waiting = {.fd = listener, .events = POLLIN};
  if (poll(&waiting, 1, answer_within_ms) != 1) die("my neighbour", "did not call");
  const int fd = accept(listener, NULL, NULL);
  check_os(fd, "accept");
  uint32_t caller = 0;
  if (recv(fd, &caller, sizeof caller, MSG_WAITALL) != sizeof caller) die("my neighbour", "hung up");
  close(fd);
  return caller;
}

// ---- the report ----

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static int print_libpmix(struct dl_phdr_info* info, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(info->dlpi_name, "/libpmix.so"))
    printf("  library: %s, %s\n", info->dlpi_name, PMIx_Get_version());
  return 0;
}

// The times travel as everything does here: each rank puts them, a fence collects, rank 0 gets.
static void report(uint32_t size, const double took[phases]) {
  char text[phases * 24] = "";
  for (int p = 0; p < phases; ++p)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%.3f ", took[p]);
  put_text(TIMES_KEY, text);
  check(PMIx_Commit(), "PMIx_Commit");
  fence(true);
  if (me.rank != 0) return;

  double* all = calloc((size_t)phases * size, sizeof *all);
  if (all == NULL) die("report", "no memory");
  for (uint32_t rank = 0; rank < size; ++rank) {
    get_text(rank, TIMES_KEY, text, sizeof text);
    char* rest = text;
    for (int p = 0; p < phases; ++p) all[(size_t)p * size + rank] = strtod(rest, &rest);
  }
  printf("\n%" PRIu32 " processes exchanged business cards in job %s\n", size, me.nspace);
  dl_iterate_phdr(print_libpmix, NULL);
  printf("  %-32s %10s %10s %10s\n", "microseconds", "fastest", "median", "slowest");
  for (int p = 0; p < phases; ++p) {
    double* row = all + (size_t)p * size;
    qsort(row, size, sizeof *row, by_size);
    printf("  %-32s %10.2f %10.2f %10.2f\n", phase_names[p], row[0], row[size / 2], row[size - 1]);
  }
  free(all);
}

int main(void) {
  double took[phases], start = now_us();
  const pmix_status_t status = PMIx_Init(&me, NULL, 0);
  took[phase_init] = now_us() - start;
  if (status != PMIX_SUCCESS) {
    fprintf(stderr, "business_card: PMIx_Init: %s (was this started by weftrun?)\n",
            PMIx_Error_string(status));
    return 1;
  }
  const uint32_t size = job_size();
  char host[64] = "?";
  gethostname(host, sizeof host - 1);

  char card[64];
  const int listener = listen_somewhere(card, sizeof card);
  start = now_us();
  put_text(CARD_KEY, card);
  check(PMIx_Commit(), "PMIx_Commit");
  took[phase_put] = now_us() - start;

  start = now_us();
  fence(true);
  took[phase_fence] = now_us() - start;

  char(*cards)[64] = calloc(size, sizeof *cards);
  if (cards == NULL) die("cards", "no memory");
  start = now_us();
  for (uint32_t rank = 0; rank < size; ++rank) get_text(rank, CARD_KEY, cards[rank], sizeof cards[rank]);
  took[phase_get] = (now_us() - start) / size;

  const uint32_t right = (me.rank + 1) % size, left = (me.rank + size - 1) % size;
  call(cards[right]);
  const uint32_t caller = answer(listener);
  if (caller != left) die("called by", "somebody who is not my left neighbour");
  printf("rank %" PRIu32 " of %" PRIu32 " on %s, pid %d: my card is %s; read %" PRIu32
         " cards; called rank %" PRIu32 " at %s; rank %" PRIu32 " called me\n",
         me.rank, size, host, (int)getpid(), card, size, right, cards[right], caller);
  fflush(stdout);

  fence(false);  // no rank starts the clock while others still talk
  start = now_us();
  for (int i = 0; i < barriers; ++i) check(PMIx_Fence(NULL, 0, NULL, 0), "PMIx_Fence");
  took[phase_barrier] = (now_us() - start) / barriers;

  report(size, took);
  free(cards);
  close(listener);
  check(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
  return 0;
}
