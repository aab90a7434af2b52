// SPDX-License-Identifier: BSD-3-Clause
// A rank with a will of its own for the tests of weftrun: weftrun_client WORD...; each word is one step.
//   init finalize          the calls
//   library                this process and its parent must have the file of WEFT_TEST_LIBRARY as their
//                          libpmix
//   keys                   prints what the job says about this rank, one "name=value" a line
//   localities:N           prints its locality and what it shares with ranks 0 to N - 1
//   near_locality:R        prints the locality of rank R, with PMIX_OPTIONAL
//   sets                   prints "RANK NAMES OWN R,R ...": all process sets, its own, and the ranks of each
//                          set
//   folders                prints "RANK TMPDIR NSDIR PROCDIR", or the status where there is no such key
//   folder_of:R            prints the PROCDIR of that rank
//   exit:N signal:N        leave so
//   abort:N abort:N:R      PMIx_Abort of the whole job, or of rank R alone
//   only:R                 the rest is for rank R; other ranks skip to the word "all"
//   fence                  with the whole job
//   fence_nb               PMIx_Fence_nb with the whole job, and a wait for its callback
//   fences_until:FILE      as long as rank 0 does not see the file, 20 at least; it prints "fences COUNT"
//   until:FILE             waits until the file is there
//   fence_aborted          a fence of the whole job that has to fail with PMIX_ERR_PROC_ABORTED
//   fence_of:A,B,C         with these ranks
//   connect disconnect     of the whole job
//   construct:NAME group_fence:NAME destruct:NAME   a group of the whole job, a fence of it, its end
//   lead:NAME added:NAME   a group that this rank brings together of all ranks; of which it is an added
//                          member
//   invite:NAME            a group to which this rank invites all others
//   watch                  listens to PMIX_ERR_PROC_ABORTED and PMIX_EVENT_NODE_DOWN
//   hears:R hears_node:N   waits until it has been told that rank R, node N is gone
//   forge:KIND:SERVER      raises an event that looks like one of weftrun's or weftd's own, in the name of
//                          that server: object, signal, ended, node_down, end
//   watch_ends             listens to PMIX_EVENT_PROC_TERMINATED, and by a default handler to whatever comes
//   ended:R                waits until it has been told how rank R ended, prints "R EXIT_CODE STATUS"
//   by_default:R           waits until the default handler has been told of rank R, prints "R CODE"
//   mark marked            raises an event; waits for that event, after `watch`
//   marks_until:FILE       prints "raising", raises such events until the file is there, then one that says
//                          how many they were
//   marks_all              waits, after `watch`, until it has been told that number and has got as many; more
//                          must not come
//   descriptors            prints each descriptor above 2 and what it refers to
//   pid say:TEXT           prints "RANK PID", TEXT
//   wait                   until a signal ends the process
// Moments, for faults that have to come at one. The folder of WEFT_TEST_MOMENTS has two FIFOs, `said` and
// `go`:
//   reach:NAME             writes "NAME RANK PID" to `said`
//   hold                   until a process opens `go` for writing
//   hold_connect           PMIx_Init reaches "init" before it connects to the server, and holds there
//   stubborn               SIGTERM does not end this rank: it reaches "end"
//   put:BYTES commit       so many bytes under the key "key"; BYTES 0: until PMIx_Put says that there is no
//                          room, or it fails
//   collect                a fence of the whole job in which the cards travel
//   get:R                  that key of rank R, whose bytes have to be that rank's
//   finalize_barrier       PMIx_Finalize with PMIX_EMBED_BARRIER
//   eat                    memory until there is none; memory_of:N has N MiB of it
//   spawn:N                asks for a job of N processes of this program, with the words "try init try
//                          finalize"
//   write:BYTES            to standard output; 0: without end
//   try                    the next call may fail: prints "RANK STATUS" of it, and goes on
#include <fcntl.h>
#include <pmix.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/mpi/library.h"

static pmix_proc_t me;
static int tolerant;          // after the word "try"
static int holds_at_connect;  // after the word "hold_connect"

static void fail(const char* what, pmix_status_t status) {
  fprintf(stderr, "weftrun_client: rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(status));
  exit(99);
}

static void expect_success(const char* what, pmix_status_t status) {
  if (tolerant)
    printf("%u %s\n", me.rank, PMIx_Error_string(status)), fflush(stdout);
  else if (status != PMIX_SUCCESS)
    fail(what, status);
  tolerant = 0;
}

// The rank may not have called PMIx_Init, and the call may come from a handler of signals.
static int open_fifo(const char* name, int flags) {
  const char* const folder = getenv("WEFT_TEST_MOMENTS");
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder == NULL ? "." : folder, name);
  return open(path, flags | O_CLOEXEC);
}

static void reach(const char* moment) {
  const char* const rank = getenv("PMIX_RANK");
  char line[128];
  const int length =
      snprintf(line, sizeof line, "%s %s %d\n", moment, rank == NULL ? "-" : rank, (int)getpid());
  const int said = open_fifo("said", O_WRONLY);
  if (said < 0 || write(said, line, (size_t)length) != length) exit(96);
  close(said);
}

static void hold(void) {
  const int go = open_fifo("go", O_RDONLY);
  if (go < 0) exit(95);
  close(go);
}

static void on_term(int number) {
  (void)number;
  reach("end");
}

// In the place of libc's, also for the library.
__attribute__((visibility("default"))) int connect(int fd, const struct sockaddr* to, socklen_t bytes) {
  if (holds_at_connect) {
    holds_at_connect = 0;
    reach("init");
    hold();
  }
  return (int)syscall(SYS_connect, fd, to, bytes);
}

// Consumers compare types strictly, so a value of another type than the Standard's is a failure here.
static pmix_value_t* get(pmix_rank_t rank, const char* key, pmix_data_type_t type) {
  pmix_proc_t whose;
  memcpy(&whose, &me, sizeof whose);
  whose.rank = rank;
  pmix_value_t* value = NULL;
  const pmix_status_t status = PMIx_Get(&whose, key, NULL, 0, &value);
  if (status != PMIX_SUCCESS) fail(key, status);
  if (value->type != type) {
    fprintf(stderr, "weftrun_client: %s has type %d, not %d\n", key, value->type, type);
    exit(98);
  }
  return value;
}

static void print_u32(pmix_rank_t rank, const char* key, const char* name) {
  pmix_value_t* value = get(rank, key, PMIX_UINT32);
  printf("%s=%u\n", name, value->data.uint32);
  PMIX_VALUE_RELEASE(value);
}

static void print_u16(pmix_rank_t rank, const char* key, const char* name) {
  pmix_value_t* value = get(rank, key, PMIX_UINT16);
  printf("%s=%u\n", name, value->data.uint16);
  PMIX_VALUE_RELEASE(value);
}

static void print_rank(pmix_rank_t rank, const char* key, const char* name) {
  pmix_value_t* value = get(rank, key, PMIX_PROC_RANK);
  printf("%s=%u\n", name, value->data.rank);
  PMIX_VALUE_RELEASE(value);
}

static void print_string(pmix_rank_t rank, const char* key, const char* name) {
  pmix_value_t* value = get(rank, key, PMIX_STRING);
  printf("%s=%s\n", name, value->data.string == NULL ? "" : value->data.string);
  PMIX_VALUE_RELEASE(value);
}

/* Prints what is known of a node's slots. */
static void print_slots(uint32_t node) {
  const char* keys[] = {PMIX_MAX_PROCS, PMIX_NODE_OVERSUBSCRIBED};
  pmix_proc_t job = {.rank = PMIX_RANK_WILDCARD};
  pmix_value_t* values[2];
  pmix_info_t how[2];
  bool yes = true;
  PMIX_LOAD_NSPACE(job.nspace, me.nspace);
  PMIX_INFO_LOAD(&how[0], PMIX_NODE_INFO, &yes, PMIX_BOOL);
  PMIX_INFO_LOAD(&how[1], PMIX_NODEID, &node, PMIX_UINT32);
  for (int i = 0; i < 2; ++i) expect_success("PMIx_Get", PMIx_Get(&job, keys[i], how, 2, &values[i]));
  printf("slots of %u: %u %s\n", node, values[0]->data.uint32, values[1]->data.flag ? "over" : "fits");
  PMIX_VALUE_RELEASE(values[0]);
  PMIX_VALUE_RELEASE(values[1]);
}

static void print_folder(pmix_rank_t rank, const char* key) {
  pmix_value_t* value = NULL;
  pmix_proc_t proc = {.rank = rank};
  PMIX_LOAD_NSPACE(proc.nspace, me.nspace);
  const pmix_status_t status = PMIx_Get(&proc, key, NULL, 0, &value);
  printf(" %s", status == PMIX_SUCCESS && value->type == PMIX_STRING ? value->data.string
                                                                     : PMIx_Error_string(status));
  if (status == PMIX_SUCCESS) PMIX_VALUE_RELEASE(value);
}

static void print_folders(void) {
  printf("%u", me.rank);
  print_folder(PMIX_RANK_WILDCARD, PMIX_TMPDIR);
  print_folder(PMIX_RANK_WILDCARD, PMIX_NSDIR);
  print_folder(me.rank, PMIX_PROCDIR);
  printf("\n");
  fflush(stdout);
}

// One answer; PMIX_INFO_FREE(it, 1) is owed.
static pmix_info_t* ask(char* key, const char* set) {
  char* keys[] = {key, NULL};
  pmix_info_t qualifier, *results = NULL;
  size_t count = 0;
  pmix_query_t query = {keys, &qualifier, set == NULL ? 0 : 1};
  if (set != NULL) PMIX_INFO_LOAD(&qualifier, PMIX_PSET_NAME, set, PMIX_STRING);
  const pmix_status_t status = PMIx_Query_info(&query, 1, &results, &count);
  if (status != PMIX_SUCCESS) fail(key, status);
  if (set != NULL) PMIX_INFO_DESTRUCT(&qualifier);
  return results;
}

static void print_sets(void) {
  char line[1024], list[256];
  pmix_info_t* names = ask(PMIX_QUERY_PSET_NAMES, NULL);
  snprintf(list, sizeof list, "%s", names->value.data.string);
  PMIX_INFO_FREE(names, 1);
  pmix_value_t* own = NULL;
  const pmix_status_t status = PMIx_Get(&me, PMIX_PSET_NAMES, NULL, 0, &own);
  const char* first = status == PMIX_SUCCESS ? *(char**)own->data.darray->array : PMIx_Error_string(status);
  int used = snprintf(line, sizeof line, "%u %s %s", me.rank, list, first);
  if (own != NULL) PMIX_VALUE_RELEASE(own);
  for (char *rest = list, *name; (name = strtok_r(rest, ",", &rest)) != NULL;) {
    pmix_info_t* members = ask(PMIX_QUERY_PSET_MEMBERSHIP, name);
    const pmix_data_array_t* array = members->value.data.darray;
    for (size_t i = 0; i < array->size; ++i)
      used += snprintf(line + used, sizeof line - (size_t)used, "%c%u", i == 0 ? ' ' : ',',
                       ((pmix_proc_t*)array->array)[i].rank);
    PMIX_INFO_FREE(members, 1);
  }
  printf("%s\n", line);
  fflush(stdout);
}

static void print_folder_of(pmix_rank_t rank) {
  printf("%u", me.rank);
  print_folder(rank, PMIX_PROCDIR);
  printf("\n");
  fflush(stdout);
}

static void print_keys(void) {
  printf("rank=%u\nnspace=%s\n", me.rank, me.nspace);
  print_u32(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, "job_size");
  print_u32(PMIX_RANK_WILDCARD, PMIX_MAX_PROCS, "max_procs");
  print_u32(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE, "univ_size");
  print_u32(PMIX_RANK_WILDCARD, PMIX_NUM_NODES, "num_nodes");
  print_u32(PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE, "local_size");
  print_u32(PMIX_RANK_WILDCARD, PMIX_JOB_NUM_APPS, "num_apps");
  print_string(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, "local_peers");
  print_string(PMIX_RANK_WILDCARD, PMIX_MAPBY, "mapby");
  print_string(PMIX_RANK_WILDCARD, PMIX_BINDTO, "bindto");
  print_u16(me.rank, PMIX_LOCAL_RANK, "local_rank");
  print_u16(me.rank, PMIX_NODE_RANK, "node_rank");
  print_rank(me.rank, PMIX_GLOBAL_RANK, "global_rank");
  print_rank(me.rank, PMIX_APP_RANK, "app_rank");
  print_rank(me.rank, PMIX_APPLDR, "app_leader");
  print_u32(me.rank, PMIX_APPNUM, "appnum");
  print_u32(me.rank, PMIX_NODEID, "nodeid");
  print_string(me.rank, PMIX_HOSTNAME, "hostname");
}

static char* locality_of(pmix_rank_t rank) {
  pmix_proc_t whose;
  memcpy(&whose, &me, sizeof whose);
  whose.rank = rank;
  pmix_value_t* value = NULL;
  expect_success(PMIX_LOCALITY_STRING, PMIx_Get(&whose, PMIX_LOCALITY_STRING, NULL, 0, &value));
  char* text = strdup(value->data.string);
  PMIX_VALUE_RELEASE(value);
  return text;
}

/// Prints the locality of this rank, and what it shares with each of the `size` ranks of the job.
static void print_localities(pmix_rank_t size) {
  char* own = locality_of(me.rank);
  printf("locality=%s\n", own);
  for (pmix_rank_t r = 0; r < size; ++r) {
    char* other = locality_of(r);
    pmix_locality_t shared = PMIX_LOCALITY_UNKNOWN;
    expect_success("PMIx_Get_relative_locality", PMIx_Get_relative_locality(own, other, &shared));
    printf("with_%u=%s%s\n", r, (shared & PMIX_LOCALITY_SHARE_NODE) != 0 ? "node" : "",
           (shared & PMIX_LOCALITY_SHARE_CORE) != 0 ? ",core" : "");
    free(other);
  }
  free(own);
}

/// Only what this process can read by itself, as Open MPI asks.
static void print_near_locality(pmix_rank_t rank) {
  pmix_proc_t whose;
  memcpy(&whose, &me, sizeof whose);
  whose.rank = rank;
  const bool yes = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_OPTIONAL, &yes, PMIX_BOOL);
  pmix_value_t* value = NULL;
  expect_success(PMIX_LOCALITY_STRING, PMIx_Get(&whose, PMIX_LOCALITY_STRING, &info, 1, &value));
  printf("near_%u=%s\n", rank, value->data.string);
  PMIX_VALUE_RELEASE(value);
}

static void init(void) {
  expect_success("PMIx_Init", PMIx_Init(&me, NULL, 0));
}

static void fence(void) {
  expect_success("PMIx_Fence", PMIx_Fence(NULL, 0, NULL, 0));
}

static void call_with_flag(const char* flag) {
  const bool yes = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, flag, &yes, PMIX_BOOL);
  if (strcmp(flag, PMIX_EMBED_BARRIER) == 0)
    expect_success("PMIx_Finalize", PMIx_Finalize(&info, 1));
  else
    expect_success("PMIx_Fence", PMIx_Fence(NULL, 0, &info, 1));
  PMIX_INFO_DESTRUCT(&info);
}

// A byte of a card's key. Bytes that look random keep one card from passing for another's, and do not get
// shorter by compression.
static char byte_of_card(pmix_rank_t rank, size_t at) {
  uint32_t mixed = rank * 0x9e3779b9u + (uint32_t)at;
  mixed = (mixed ^ mixed >> 15) * 0x2c1b3c6du;
  mixed = (mixed ^ mixed >> 12) * 0x297a2d39u;
  return (char)(mixed >> 24);
}

static void put(size_t bytes) {
  const size_t chunk = 1 << 20;
  for (size_t i = 0;; ++i) {
    char key[32];
    snprintf(key, sizeof key, i == 0 ? "key" : "key%zu", i);
    const size_t length = bytes == 0 ? chunk : bytes;
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data = {.bo = {malloc(length), length}}};
    for (size_t at = 0; at < length; ++at) value.data.bo.bytes[at] = byte_of_card(me.rank, at);
    const pmix_status_t status = PMIx_Put(PMIX_GLOBAL, key, &value);
    free(value.data.bo.bytes);
    if (bytes != 0) return expect_success("PMIx_Put", status);
    if (status == PMIX_ERR_OUT_OF_RESOURCE) return;
    if (status != PMIX_SUCCESS) fail("PMIx_Put until there is no room", status);
  }
}

static void get_of(pmix_rank_t rank) {
  pmix_proc_t whose;
  memcpy(&whose, &me, sizeof whose);
  whose.rank = rank;
  pmix_value_t* value = NULL;
  const pmix_status_t status = PMIx_Get(&whose, "key", NULL, 0, &value);
  expect_success("PMIx_Get", status);
  if (status != PMIX_SUCCESS) return;
  for (size_t at = 0; at < value->data.bo.size; ++at)
    if (value->data.bo.bytes[at] != byte_of_card(rank, at))
      fail("a card with another rank's bytes", PMIX_ERROR);
  PMIX_VALUE_RELEASE(value);
}

static void check_library(void) {
  const char* wanted = getenv("WEFT_TEST_LIBRARY");
  if (wanted == NULL || !has_library(getpid(), wanted) || !has_library(getppid(), wanted))
    fail("another libpmix", PMIX_ERROR);
}

static void eat(size_t most) {
  const size_t chunk = 1 << 20;
  for (size_t i = 0; most == 0 || i < most; ++i) {
    char* const bytes = malloc(chunk);
    if (bytes == NULL) exit(94);
    memset(bytes, (int)i | 1, chunk);
  }
}

static void write_out(size_t bytes) {
  static char chunk[4096];
  memset(chunk, 'x', sizeof chunk - 1);
  chunk[sizeof chunk - 1] = '\n';
  for (size_t done = 0; bytes == 0 || done < bytes; done += sizeof chunk)
    if (fwrite(chunk, sizeof chunk, 1, stdout) != 1 || fflush(stdout) != 0) exit(93);
}

static int is_there(const char* file) {
  return access(file, F_OK) == 0;
}

static void wait_for_file(const char* file) {
  while (!is_there(file)) usleep(2000);
}

// Rank 0 says with each twentieth whether another twenty follow.
static void fences_until(const char* file) {
  pmix_proc_t first;
  memcpy(&first, &me, sizeof first);
  first.rank = 0;
  unsigned count = 0;
  for (bool is_last = false; !is_last;) {
    for (int i = 1; i < 20; ++i, ++count) fence();
    pmix_value_t* value = NULL;
    if (me.rank == 0) {
      pmix_value_t last;
      is_last = is_there(file);
      PMIX_VALUE_LOAD(&last, &is_last, PMIX_BOOL);
      if (PMIx_Put(PMIX_GLOBAL, "is_last", &last) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS)
        fail("is_last", PMIX_ERROR);
    }
    pmix_info_t collect;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, NULL, PMIX_BOOL);
    const pmix_status_t status = PMIx_Fence(NULL, 0, &collect, 1);
    if (status != PMIX_SUCCESS) fail("PMIx_Fence with data", status);
    ++count;
    const pmix_status_t got = PMIx_Get(&first, "is_last", NULL, 0, &value);
    if (got != PMIX_SUCCESS || value->type != PMIX_BOOL) fail("is_last of rank 0", got);
    is_last = value->data.flag;
    PMIX_VALUE_RELEASE(value);
  }
  if (me.rank == 0) printf("fences %u\n", count), fflush(stdout);
}

static void fence_aborted(void) {
  const pmix_status_t status = PMIx_Fence(NULL, 0, NULL, 0);
  if (status != PMIX_ERR_PROC_ABORTED) fail("PMIx_Fence with a process that is gone", status);
}

static void fence_of(const char* list) {
  pmix_proc_t procs[64];
  size_t count = 0;
  for (char* end = NULL; *list != 0 && count < 64; list = *end == ',' ? end + 1 : end) {
    memcpy(&procs[count], &me, sizeof me);
    procs[count++].rank = (pmix_rank_t)strtoul(list, &end, 10);
  }
  const pmix_status_t status = PMIx_Fence(procs, count, NULL, 0);
  if (status != PMIX_SUCCESS) fail("PMIx_Fence of some", status);
}

static pmix_proc_t whole_job(void) {
  pmix_proc_t all;
  memcpy(&all, &me, sizeof all);
  all.rank = PMIX_RANK_WILDCARD;
  return all;
}

static void connect_all(int connects) {
  const pmix_proc_t all = whole_job();
  if (connects)
    expect_success("PMIx_Connect", PMIx_Connect(&all, 1, NULL, 0));
  else
    expect_success("PMIx_Disconnect", PMIx_Disconnect(&all, 1, NULL, 0));
}

static void fence_of_group(const char* name) {
  pmix_proc_t all = {.rank = PMIX_RANK_WILDCARD};
  PMIX_LOAD_NSPACE(all.nspace, name);
  expect_success("PMIx_Fence of a group", PMIx_Fence(&all, 1, NULL, 0));
}

static void construct(const char* name, const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* how,
                      size_t nhow) {
  pmix_info_t* results = NULL;
  size_t count = 0;
  const pmix_status_t status = PMIx_Group_construct(name, procs, nprocs, how, nhow, &results, &count);
  if (results != NULL) PMIX_INFO_FREE(results, count);
  expect_success("PMIx_Group_construct", status);
}

static void construct_of_all(const char* name) {
  const pmix_proc_t all = whole_job();
  construct(name, &all, 1, NULL, 0);
}

// All ranks of the job, this one first.
static size_t all_ranks(pmix_proc_t procs[64]) {
  pmix_value_t* size = get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, PMIX_UINT32);
  const pmix_rank_t ranks = size->data.uint32;
  PMIX_VALUE_RELEASE(size);
  size_t count = 0;
  memcpy(&procs[count++], &me, sizeof me);
  for (pmix_rank_t rank = 0; rank < ranks && count < 64; ++rank) {
    if (rank == me.rank) continue;
    memcpy(&procs[count], &me, sizeof me);
    procs[count++].rank = rank;
  }
  return count;
}

static void lead(const char* name) {
  pmix_proc_t procs[64];
  size_t leaders = 1;
  pmix_data_array_t added = {.type = PMIX_PROC, .size = all_ranks(procs) - 1, .array = &procs[1]};
  pmix_info_t how[2];
  PMIX_INFO_LOAD(&how[0], PMIX_GROUP_BOOTSTRAP, &leaders, PMIX_SIZE);
  PMIX_INFO_LOAD(&how[1], PMIX_GROUP_ADD_MEMBERS, &added, PMIX_DATA_ARRAY);
  construct(name, procs, 1, how, 2);
  PMIX_INFO_DESTRUCT(&how[1]);
}

static void invite(const char* name) {
  pmix_proc_t procs[64];
  const size_t count = all_ranks(procs);
  pmix_info_t* results = NULL;
  size_t result_count = 0;
  const pmix_status_t status = PMIx_Group_invite(name, procs, count, NULL, 0, &results, &result_count);
  if (results != NULL) PMIX_INFO_FREE(results, result_count);
  expect_success("PMIx_Group_invite", status);
}

// The counts of what has been heard, of each rank and of each node.
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t heard = PTHREAD_COND_INITIALIZER;
static int gone_ranks[64], gone_nodes[64], marks;
static const pmix_status_t mark_code = -7001, last_mark_code = -7002;
static int marks_raised = -1;  // by what the last one says

static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t count, pmix_info_t* results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t answer, void* cookie) {
  (void)handler, (void)source, (void)results, (void)result_count;
  pthread_mutex_lock(&mutex);
  if (code == mark_code) ++marks;
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t* value = &infos[i].value;
    if (code == last_mark_code && PMIX_CHECK_KEY(&infos[i], "test.count")) marks_raised = value->data.integer;
    if (code == PMIX_ERR_PROC_ABORTED && PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) &&
        value->type == PMIX_PROC && value->data.proc->rank < 64)
      ++gone_ranks[value->data.proc->rank];
    if (code == PMIX_EVENT_NODE_DOWN && PMIX_CHECK_KEY(&infos[i], PMIX_NODEID) &&
        value->type == PMIX_UINT32 && value->data.uint32 < 64)
      ++gone_nodes[value->data.uint32];
  }
  pthread_cond_broadcast(&heard);
  pthread_mutex_unlock(&mutex);
  if (answer != NULL) answer(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cookie);
}

static void watch(void) {
  pmix_status_t codes[] = {PMIX_ERR_PROC_ABORTED, PMIX_EVENT_NODE_DOWN, mark_code, last_mark_code};
  const pmix_status_t status = PMIx_Register_event_handler(codes, 4, NULL, 0, on_event, NULL, NULL);
  if (status < 0) fail("PMIx_Register_event_handler", status);
}

// The end of one rank, as a handler of watch_ends heard it.
static struct end {
  int times, exit_code;
  pmix_status_t code, how;
} ends[64], defaults[64];

static void keep_end(struct end* into, pmix_status_t code, pmix_info_t infos[], size_t count) {
  struct end* end = NULL;
  for (size_t i = 0; i < count; ++i)
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) && infos[i].value.type == PMIX_PROC &&
        infos[i].value.data.proc->rank < 64)
      end = &into[infos[i].value.data.proc->rank];
  if (end == NULL) return;
  end->code = code;
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EXIT_CODE)) end->exit_code = infos[i].value.data.integer;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_PROC_TERM_STATUS)) end->how = infos[i].value.data.status;
  }
  ++end->times;
}

static void on_end(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                   size_t count, pmix_info_t* results, size_t result_count,
                   pmix_event_notification_cbfunc_fn_t answer, void* cookie) {
  (void)handler, (void)source, (void)results, (void)result_count;
  pthread_mutex_lock(&mutex);
  keep_end(code == PMIX_EVENT_PROC_TERMINATED ? ends : defaults, code, infos, count);
  pthread_cond_broadcast(&heard);
  pthread_mutex_unlock(&mutex);
  if (answer != NULL) answer(PMIX_SUCCESS, NULL, 0, NULL, NULL, cookie);
}

static void watch_ends(void) {
  pmix_status_t code = PMIX_EVENT_PROC_TERMINATED;
  pmix_status_t status = PMIx_Register_event_handler(&code, 1, NULL, 0, on_end, NULL, NULL);
  if (status >= 0) status = PMIx_Register_event_handler(NULL, 0, NULL, 0, on_end, NULL, NULL);
  if (status < 0) fail("PMIx_Register_event_handler", status);
}

static struct end wait_for_end(const struct end* of) {
  pthread_mutex_lock(&mutex);
  while (of->times == 0) pthread_cond_wait(&heard, &mutex);
  const struct end end = *of;
  pthread_mutex_unlock(&mutex);
  if (end.times != 1) {
    fprintf(stderr, "weftrun_client: rank %u: told %d times of one end\n", me.rank, end.times);
    exit(97);
  }
  return end;
}

static void print_end(const char* rank) {
  const struct end end = wait_for_end(&ends[atoi(rank) & 63]);
  printf("%s %d %s\n", rank, end.exit_code, PMIx_Error_string(end.how)), fflush(stdout);
}

static void print_default(const char* rank) {
  const struct end end = wait_for_end(&defaults[atoi(rank) & 63]);
  printf("%s %s\n", rank, PMIx_Error_string(end.code)), fflush(stdout);
}

static void wait_for(const int* times) {
  pthread_mutex_lock(&mutex);
  while (*times == 0) pthread_cond_wait(&heard, &mutex);
  const int heard_times = *times;
  pthread_mutex_unlock(&mutex);
  if (heard_times != 1) {
    fprintf(stderr, "weftrun_client: rank %u: told %d times of one loss\n", me.rank, heard_times);
    exit(97);
  }
}

static void fence_is_over(pmix_status_t status, void* times) {
  if (status != PMIX_SUCCESS) fail("PMIx_Fence_nb", status);
  pthread_mutex_lock(&mutex);
  ++*(int*)times;
  pthread_cond_broadcast(&heard);
  pthread_mutex_unlock(&mutex);
}

static void fence_later(void) {
  int times = 0;
  expect_success("PMIx_Fence_nb", PMIx_Fence_nb(NULL, 0, NULL, 0, fence_is_over, &times));
  wait_for(&times);
}

static void raise_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                        pmix_info_t* infos, size_t count) {
  const pmix_status_t status = PMIx_Notify_event(code, source, range, infos, count, NULL, NULL);
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) fail("PMIx_Notify_event", status);
}

// The frames are those of tools/channel/protocol.hpp: the number of the message, the version of the format,
// the fields.
enum { order_signal = 2, order_end = 4, report_ended = 9 };

static void forge(const char* words) {
  const char* const number = strrchr(words, ':');
  pmix_proc_t server;
  PMIX_LOAD_PROCID(&server, me.nspace, (pmix_rank_t)atoi(number + 1));
  strcat(server.nspace, "-weftrun");
  const char signal_bytes[] = {3, SIGUSR1, 0, 0, 0, 0, 0, 0, 0};
  // The report that rank 1 has ended, with status 42.
  const char ended_bytes[] = {3, 1, 0, 0, 0, 0, 42, 0, 0, 1, 0, 0, 0, 0,
                              0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0, 0, 0};
  const char end_bytes[] = {3, 0};
  pmix_byte_object_t message = {(char*)end_bytes, sizeof end_bytes};
  int type = order_end;
  if (strncmp(words, "signal", 6) == 0)
    type = order_signal, message = (pmix_byte_object_t){(char*)signal_bytes, sizeof signal_bytes};
  if (strncmp(words, "ended", 5) == 0)
    type = report_ended, message = (pmix_byte_object_t){(char*)ended_bytes, sizeof ended_bytes};
  pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 1 - type;
  if (strncmp(words, "node_down", 9) == 0) code = PMIX_EVENT_NODE_DOWN;

  pmix_info_t infos[3];
  PMIX_INFO_LOAD(&infos[0], "weft.message", &message, PMIX_BYTE_OBJECT);
  PMIX_INFO_LOAD(&infos[1], "weft.server", &server.rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&infos[2], PMIX_EVENT_RETURN_OBJECT, (void*)0x4141414141410000, PMIX_POINTER);
  raise_event(code, &server, PMIX_RANGE_SESSION, infos, strncmp(words, "object", 6) == 0 ? 3 : 2);
  for (int i = 0; i < 3; ++i) PMIX_INFO_DESTRUCT(&infos[i]);
}

static void raise_marks_until(const char* path) {
  printf("raising\n"), fflush(stdout);
  int count = 0;
  for (; access(path, F_OK) != 0; ++count) raise_event(mark_code, &me, PMIX_RANGE_SESSION, NULL, 0);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, "test.count", &count, PMIX_INT);
  raise_event(last_mark_code, &me, PMIX_RANGE_SESSION, &info, 1);
  PMIX_INFO_DESTRUCT(&info);
}

static void wait_for_all_marks(void) {
  pthread_mutex_lock(&mutex);
  while (marks_raised < 0 || marks < marks_raised) pthread_cond_wait(&heard, &mutex);
  const int more = marks - marks_raised;
  pthread_mutex_unlock(&mutex);
  if (more != 0) {
    fprintf(stderr, "weftrun_client: rank %u: %d events more than were raised\n", me.rank, more);
    exit(97);
  }
}

static void wait_for_mark(void) {
  pthread_mutex_lock(&mutex);
  while (marks == 0) pthread_cond_wait(&heard, &mutex);
  pthread_mutex_unlock(&mutex);
}

static void print_descriptors(void) {
  for (int fd = 3; fd < 1024; ++fd) {
    char path[64], target[256];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    printf("%d %s\n", fd, target);
  }
}

static void finalize(void) {
  expect_success("PMIx_Finalize", PMIx_Finalize(NULL, 0));
}

static void abort_job(const char* words) {
  const char* victim = strchr(words, ':');
  pmix_proc_t other;
  memcpy(&other, &me, sizeof other);
  if (victim != NULL) other.rank = (pmix_rank_t)atoi(victim + 1);
  const pmix_status_t status =
      PMIx_Abort(atoi(words), "so it was told", victim != NULL ? &other : NULL, victim != NULL ? 1 : 0);
  if (status != PMIX_SUCCESS) fail("PMIx_Abort", status);
}

static void spawn(const char* program, int count) {
  char path[4096], *words[] = {path, (char*)"try", (char*)"init", (char*)"try", (char*)"finalize", NULL};
  snprintf(path, sizeof path, "%s", program);
  pmix_app_t app = {.cmd = path, .argv = words, .maxprocs = count};
  char nspace[PMIX_MAX_NSLEN + 1];
  expect_success("PMIx_Spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace));
}

int main(int argc, char** argv) {
  int skip = 0;
  if (getenv("PMIX_RANK") != NULL) me.rank = (pmix_rank_t)atoi(getenv("PMIX_RANK"));  // before init
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (strcmp(word, "all") == 0) skip = 0;
    if (skip) continue;
    if (strcmp(word, "init") == 0) init();
    if (strcmp(word, "finalize") == 0) finalize();
    if (strcmp(word, "fence") == 0) fence();
    if (strcmp(word, "fence_nb") == 0) fence_later();
    if (strncmp(word, "fences_until:", 13) == 0) fences_until(word + 13);
    if (strncmp(word, "until:", 6) == 0) wait_for_file(word + 6);
    if (strcmp(word, "fence_aborted") == 0) fence_aborted();
    if (strncmp(word, "fence_of:", 9) == 0) fence_of(word + 9);
    if (strcmp(word, "watch") == 0) watch();
    if (strcmp(word, "watch_ends") == 0) watch_ends();
    if (strncmp(word, "ended:", 6) == 0) print_end(word + 6);
    if (strncmp(word, "by_default:", 11) == 0) print_default(word + 11);
    if (strncmp(word, "hears:", 6) == 0) wait_for(&gone_ranks[atoi(word + 6) & 63]);
    if (strncmp(word, "hears_node:", 11) == 0) wait_for(&gone_nodes[atoi(word + 11) & 63]);
    if (strncmp(word, "forge:", 6) == 0) forge(word + 6);
    if (strcmp(word, "mark") == 0) raise_event(mark_code, &me, PMIX_RANGE_SESSION, NULL, 0);
    if (strcmp(word, "marked") == 0) wait_for_mark();
    if (strncmp(word, "marks_until:", 12) == 0) raise_marks_until(word + 12);
    if (strcmp(word, "marks_all") == 0) wait_for_all_marks();
    if (strncmp(word, "say:", 4) == 0) printf("%s\n", word + 4), fflush(stdout);
    if (strcmp(word, "pid") == 0) printf("%u %d\n", me.rank, (int)getpid()), fflush(stdout);
    if (strncmp(word, "reach:", 6) == 0) reach(word + 6);
    if (strcmp(word, "hold") == 0) hold();
    if (strcmp(word, "hold_connect") == 0) holds_at_connect = 1;
    if (strcmp(word, "stubborn") == 0) signal(SIGTERM, on_term);
    if (strncmp(word, "put:", 4) == 0) put(strtoul(word + 4, NULL, 10));
    if (strcmp(word, "commit") == 0) expect_success("PMIx_Commit", PMIx_Commit());
    if (strcmp(word, "collect") == 0) call_with_flag(PMIX_COLLECT_DATA);
    if (strncmp(word, "get:", 4) == 0) get_of((pmix_rank_t)atoi(word + 4));
    if (strcmp(word, "connect") == 0) connect_all(1);
    if (strcmp(word, "disconnect") == 0) connect_all(0);
    if (strncmp(word, "group_fence:", 12) == 0) fence_of_group(word + 12);
    if (strncmp(word, "destruct:", 9) == 0)
      expect_success("PMIx_Group_destruct", PMIx_Group_destruct(word + 9, NULL, 0));
    if (strncmp(word, "construct:", 10) == 0) construct_of_all(word + 10);
    if (strncmp(word, "lead:", 5) == 0) lead(word + 5);
    if (strncmp(word, "added:", 6) == 0) construct(word + 6, NULL, 0, NULL, 0);
    if (strncmp(word, "invite:", 7) == 0) invite(word + 7);
    if (strcmp(word, "finalize_barrier") == 0) call_with_flag(PMIX_EMBED_BARRIER);
    if (strcmp(word, "eat") == 0) eat(0);
    if (strncmp(word, "spawn:", 6) == 0) spawn(argv[0], atoi(word + 6));
    if (strncmp(word, "memory_of:", 10) == 0) eat(strtoul(word + 10, NULL, 10));
    if (strncmp(word, "write:", 6) == 0) write_out(strtoul(word + 6, NULL, 10));
    if (strcmp(word, "try") == 0) tolerant = 1;
    if (strcmp(word, "descriptors") == 0) print_descriptors();
    if (strcmp(word, "keys") == 0) print_keys();
    if (strncmp(word, "localities:", 11) == 0) print_localities((pmix_rank_t)atoi(word + 11));
    if (strncmp(word, "near_locality:", 14) == 0) print_near_locality((pmix_rank_t)atoi(word + 14));
    if (strcmp(word, "folders") == 0) print_folders();
    if (strcmp(word, "sets") == 0) print_sets();
    if (strncmp(word, "folder_of:", 10) == 0) print_folder_of((pmix_rank_t)atoi(word + 10));
    if (strncmp(word, "slots:", 6) == 0) print_slots((uint32_t)atoi(word + 6));
    if (strcmp(word, "library") == 0) check_library();
    if (strncmp(word, "only:", 5) == 0) skip = (pmix_rank_t)atoi(word + 5) != me.rank;
    if (strncmp(word, "exit:", 5) == 0) exit(atoi(word + 5));
    if (strncmp(word, "signal:", 7) == 0) raise(atoi(word + 7));
    if (strncmp(word, "abort:", 6) == 0) abort_job(word + 6);
    if (strcmp(word, "wait") == 0) {
      printf("waiting\n");
      fflush(stdout);
      for (;;) pause();
    }
  }
  return 0;
}
