// SPDX-License-Identifier: BSD-3-Clause
// What the two skew programs share. Only 4.2.2 names, so that they compile with either set of headers.
#ifndef WEFT_TESTS_ABI_SKEW_H
#define WEFT_TESTS_ABI_SKEW_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // dladdr
#endif
#include <dlfcn.h>
#include <limits.h>
#include <pmix.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/// Ends the process with a line that names the program, the place and the condition that did not hold.
#define EXPECT(condition)                                                                       \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s: %s:%d: not so: %s\n", PROGRAM_NAME, __FILE__, __LINE__, #condition); \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)

/// Also names the status that came instead of PMIX_SUCCESS.
#define EXPECT_SUCCESS(call)                                                               \
  do {                                                                                     \
    const pmix_status_t status_ = (call);                                                  \
    if (PMIX_SUCCESS != status_) {                                                         \
      fprintf(stderr, "%s: %s:%d: %s: %s (%d)\n", PROGRAM_NAME, __FILE__, __LINE__, #call, \
              PMIx_Error_string(status_), (int)status_);                                   \
      exit(1);                                                                             \
    }                                                                                      \
  } while (0)

/// The file that PMIx_Init came from, so that a run can be judged to have used the library that was meant.
static inline const char* library_path(void) {
  static char path[PATH_MAX];
  Dl_info info;
  EXPECT(0 != dladdr((void*)(uintptr_t)PMIx_Init, &info) && NULL != realpath(info.dli_fname, path));
  return path;
}

/// One answer that comes through a callback; cbdata of op_done().
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool done;
  pmix_status_t status;
} answer_t;
#define ANSWER_INIT \
  { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, PMIX_SUCCESS }

static inline void op_done(pmix_status_t status, void* cbdata) {
  answer_t* answer = (answer_t*)cbdata;
  pthread_mutex_lock(&answer->mutex);
  answer->status = status;
  answer->done = true;
  pthread_cond_broadcast(&answer->changed);
  pthread_mutex_unlock(&answer->mutex);
}

/// The status that the call returned, or, if that was PMIX_SUCCESS, its callback's.
static inline pmix_status_t wait_for(pmix_status_t returned, answer_t* answer) {
  if (PMIX_SUCCESS != returned) {
    return PMIX_OPERATION_SUCCEEDED == returned ? PMIX_SUCCESS : returned;
  }
  pthread_mutex_lock(&answer->mutex);
  while (!answer->done) {
    pthread_cond_wait(&answer->changed, &answer->mutex);
  }
  pthread_mutex_unlock(&answer->mutex);
  return answer->status;
}

// A hang must end: the default action of SIGALRM does it, and the launcher or ctest reports it.
enum { watchdog_seconds = 60, card_bytes = 4096 };

#endif
