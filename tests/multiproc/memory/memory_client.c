// SPDX-License-Identifier: BSD-3-Clause
// memory_client WORD...: a rank that does what its words say, in their order:
//   unprivileged           gives up CAP_IPC_LOCK, so that the limit on locked memory counts
//   memlock:MIB            the most memory that this process may lock
//   reserve:BYTES          lets the allocator keep so many free bytes
//   lock                   locks all memory of this process, that of today and of later
//   locked_below:MIB       has locked something, and less than that
//   init finalize          PMIx_Init, PMIx_Finalize
//   listen                 registers a handler of events, so that the library's thread is there
//   put:BYTES              so many bytes under the key "key BYTES", and commits them
//   age:N                  from now on all values, put and expected, are others
//   fence collect          PMIx_Fence without data, with data
//   get:BYTES              reads the key "key BYTES" of every rank of the job, and compares all bytes
//   say:TEXT               prints "RANK PID TEXT"
//   wait:FILE              until the file is there
//   abort:R                rank R calls abort()
// A call that fails ends the rank with status 1.
#include <errno.h>
#include <linux/capability.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static pmix_proc_t me;
static size_t age;

static void fail(const char* what, const char* why) {
  fprintf(stderr, "memory_client: rank %u: %s: %s\n", me.rank, what, why);
  exit(1);
}

static void expect(const char* what, pmix_status_t status) {
  if (status != PMIX_SUCCESS) fail(what, PMIx_Error_string(status));
}

static void expect_zero(const char* what, long status) {
  if (status != 0) fail(what, strerror(errno));
}

static void give_up_locking(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  expect_zero("capget", syscall(SYS_capget, &header, data));
  data[CAP_IPC_LOCK / 32].effective &= ~(1u << CAP_IPC_LOCK % 32);
  data[CAP_IPC_LOCK / 32].permitted &= ~(1u << CAP_IPC_LOCK % 32);
  data[CAP_IPC_LOCK / 32].inheritable &= ~(1u << CAP_IPC_LOCK % 32);
  expect_zero("capset", syscall(SYS_capset, &header, data));
}

static void limit_locking(size_t mib) {
  const struct rlimit limit = {mib << 20, mib << 20};
  expect_zero("setrlimit", setrlimit(RLIMIT_MEMLOCK, &limit));
}

static void expect_locked_below(size_t mib) {
  FILE* const status = fopen("/proc/self/status", "r");
  char line[256];
  size_t kib = 0;
  while (status != NULL && fgets(line, sizeof line, status) != NULL) sscanf(line, "VmLck: %zu", &kib);
  if (status == NULL || kib == 0 || kib >= mib << 10) {
    fprintf(stderr, "%zu kB are locked\n", kib);
    fail("VmLck", "too much or nothing");
  }
  fclose(status);
}

static void reserve(size_t bytes) {
  const size_t piece = 4096;
  void** last = NULL;
  for (size_t done = 0; done < bytes; done += piece) {
    void** const one = malloc(piece);
    if (one == NULL) fail("malloc", "no memory");
    *one = last;
    last = one;
  }
  static void* top;
  top = malloc(piece);  // stays, so that what lies below it is not given back to the system
  for (void** next; last != NULL && top != NULL; last = next) {
    next = *last;
    free(last);
  }
}

static void on_event(size_t handler, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t count, pmix_info_t* results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t answer, void* cookie) {
  (void)handler, (void)code, (void)source, (void)infos, (void)count, (void)results, (void)result_count;
  if (answer != NULL) answer(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cookie);
}

static void listen_to_events(void) {
  if (PMIx_Register_event_handler(NULL, 0, NULL, 0, on_event, NULL, NULL) < 0)
    fail("PMIx_Register_event_handler", "refused");
}

static void fill(unsigned char* bytes, size_t count, pmix_rank_t rank) {
  for (size_t i = 0; i < count; ++i) bytes[i] = (unsigned char)(i * 7 + i / 4096 + rank * 13 + age * 3 + 1);
}

static void name_key(char* key, size_t bytes) {
  snprintf(key, PMIX_MAX_KEYLEN, "key %zu", bytes);
}

static void put(size_t bytes) {
  char key[PMIX_MAX_KEYLEN + 1];
  name_key(key, bytes);
  pmix_value_t value = {.type = PMIX_BYTE_OBJECT, .data = {.bo = {malloc(bytes), bytes}}};
  fill((unsigned char*)value.data.bo.bytes, bytes, me.rank);
  expect("PMIx_Put", PMIx_Put(PMIX_GLOBAL, key, &value));
  free(value.data.bo.bytes);
  expect("PMIx_Commit", PMIx_Commit());
}

static void fence(bool collects) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collects, PMIX_BOOL);
  expect("PMIx_Fence", PMIx_Fence(NULL, 0, &info, 1));
}

static uint32_t job_size(void) {
  pmix_proc_t job = me;
  job.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = NULL;
  expect("PMIx_Get of the job's size", PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
  const uint32_t size = value->data.uint32;
  PMIX_VALUE_RELEASE(value);
  return size;
}

static void get(size_t bytes) {
  char key[PMIX_MAX_KEYLEN + 1];
  name_key(key, bytes);
  unsigned char* const wanted = malloc(bytes);
  pmix_proc_t whose = me;
  for (whose.rank = 0; whose.rank < job_size(); ++whose.rank) {
    pmix_value_t* value = NULL;
    expect("PMIx_Get", PMIx_Get(&whose, key, NULL, 0, &value));
    fill(wanted, bytes, whose.rank);
    if (value->type != PMIX_BYTE_OBJECT || value->data.bo.size != bytes ||
        memcmp(value->data.bo.bytes, wanted, bytes) != 0)
      fail("PMIx_Get", "wrong bytes");
    PMIX_VALUE_RELEASE(value);
  }
  free(wanted);
}

static void say(const char* text) {
  printf("%u %d %s\n", me.rank, (int)getpid(), text);
  fflush(stdout);
}

static void wait_for_file(const char* file) {
  while (access(file, F_OK) != 0) usleep(2000);
}

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    char* const colon = strchr(words[i], ':');
    const char* const rest = colon == NULL ? "" : colon + 1;
    const size_t number = strtoull(rest, NULL, 10);
    if (colon != NULL) *colon = 0;
    const char* const word = words[i];
    if (strcmp(word, "unprivileged") == 0)
      give_up_locking();
    else if (strcmp(word, "memlock") == 0)
      limit_locking(number);
    else if (strcmp(word, "reserve") == 0)
      reserve(number);
    else if (strcmp(word, "lock") == 0)
      expect_zero("mlockall", mlockall(MCL_CURRENT | MCL_FUTURE));
    else if (strcmp(word, "locked_below") == 0)
      expect_locked_below(number);
    else if (strcmp(word, "init") == 0)
      expect("PMIx_Init", PMIx_Init(&me, NULL, 0));
    else if (strcmp(word, "listen") == 0)
      listen_to_events();
    else if (strcmp(word, "finalize") == 0)
      expect("PMIx_Finalize", PMIx_Finalize(NULL, 0));
    else if (strcmp(word, "put") == 0)
      put(number);
    else if (strcmp(word, "age") == 0)
      age = number;
    else if (strcmp(word, "fence") == 0 || strcmp(word, "collect") == 0)
      fence(word[0] == 'c');
    else if (strcmp(word, "get") == 0)
      get(number);
    else if (strcmp(word, "say") == 0)
      say(rest);
    else if (strcmp(word, "wait") == 0)
      wait_for_file(rest);
    else if (strcmp(word, "abort") == 0) {
      if (me.rank == number) abort();
    } else
      fail("an unknown word", word);
  }
  return 0;
}
