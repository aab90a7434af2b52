// SPDX-License-Identifier: BSD-3-Clause
// What Open MPI 5 asks of libpmix when it starts and in its Sessions, call by call:
//   openmpi5 RANKS LIBRARY_FOLDER
//   Rank 0 prints "ok RANKS". LIBRARY_FOLDER: where the libpmix that this process has loaded must lie.
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/include/pmix_frameworks.h"

static pmix_proc_t self;

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "rank %u: openmpi5.c:%d: %s\n", (unsigned)self.rank, __LINE__, #condition); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)
#define WORKS(call) CHECK(PMIX_SUCCESS == (call))

/* Open MPI 5 finds the number of process sets so: it passes a size_t that is 0 as if that were a pointer to
 * the place. */
static size_t number_of_sets(const pmix_value_t* value, size_t known) {
  size_t number = 0, size = 0;
  pmix_value_t copy = *value;
  const pmix_status_t status = PMIx_Value_unload(&copy, (void**)&number, &size);
  CHECK(PMIX_SUCCESS == status || 0 == number);
  return PMIX_SUCCESS == status ? number : known;
}

static void ask_for_sets(void) {
  pmix_query_t query;
  pmix_info_t* results = NULL;
  size_t count = 0, n, names = 0;
  bool refresh = true;
  pmix_status_t status;
  PMIx_Query_construct(&query);
  WORKS(PMIx_Argv_append_nosize(&query.keys, PMIX_QUERY_NUM_PSETS));
  WORKS(PMIx_Argv_append_nosize(&query.keys, PMIX_QUERY_PSET_NAMES));
  query.nqual = 1;
  query.qualifiers = PMIx_Info_create(1);
  WORKS(PMIx_Info_load(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, &refresh, PMIX_BOOL));
  status = PMIx_Query_info(&query, 1, &results, &count);
  CHECK(PMIX_SUCCESS == status || PMIX_ERR_NOT_FOUND == status);
  for (n = 0; n < count; ++n) {
    if (PMIx_Check_key(results[n].key, PMIX_QUERY_NUM_PSETS)) {
      size_t number = 99, size = 0;
      void* place = &number;
      CHECK(PMIX_SIZE == results[n].value.type);
      WORKS(PMIx_Value_unload(&results[n].value, &place, &size));
      CHECK(sizeof number == size && 1 == number);
      CHECK(number_of_sets(&results[n].value, 7) <= 7);
    } else if (PMIx_Check_key(results[n].key, PMIX_QUERY_PSET_NAMES)) {
      char* text = NULL;
      size_t size = 0;
      WORKS(PMIx_Value_unload(&results[n].value, (void**)&text, &size));
      CHECK(NULL != text && strlen(text) == size && 0 == strcmp(text, "ours"));
      free(text);
      ++names;
    }
  }
  CHECK(1 == names);
  PMIx_Info_free(results, count);
  PMIx_Query_destruct(&query);
}

static void unload_job_values(unsigned ranks) {
  pmix_proc_t job = self;
  pmix_value_t* value = NULL;
  uint32_t number = 0;
  void* place = &number;
  size_t size = 0;
  job.rank = PMIX_RANK_WILDCARD;
  WORKS(PMIx_Get(&job, PMIX_JOB_SIZE, NULL, 0, &value));
  CHECK(PMIX_UINT32 == value->type);
  WORKS(PMIx_Value_unload(value, &place, &size));
  CHECK(number == ranks && &number == place);
  place = NULL;
  CHECK(PMIX_ERR_BAD_PARAM == PMIx_Value_unload(value, &place, &size));
  CHECK(NULL == place);
  PMIx_Value_free(value, 1);
}

/* A group of all with a context, as MPI_Comm_create_from_group makes it. */
static void make_group(unsigned ranks) {
  pmix_proc_t* members = PMIx_Proc_create(ranks);
  pmix_info_t directive, *results = NULL;
  size_t count = 0, n, contexts = 0;
  bool assign = true;
  unsigned rank;
  for (rank = 0; rank < ranks; ++rank) PMIx_Load_procid(&members[rank], self.nspace, rank);
  WORKS(PMIx_Info_load(&directive, PMIX_GROUP_ASSIGN_CONTEXT_ID, &assign, PMIX_BOOL));
  WORKS(PMIx_Group_construct("openmpi5", members, ranks, &directive, 1, &results, &count));
  for (n = 0; n < count; ++n) {
    if (!PMIx_Check_key(results[n].key, PMIX_GROUP_CONTEXT_ID)) continue;
    CHECK(PMIX_SIZE == results[n].value.type && 0 != results[n].value.data.size);
    ++contexts;
  }
  CHECK(1 == contexts);
  WORKS(PMIx_Fence(members, ranks, NULL, 0));
  WORKS(PMIx_Group_destruct("openmpi5", NULL, 0));
  PMIx_Info_free(results, count);
  PMIx_Info_destruct(&directive);
  PMIx_Proc_free(members, ranks);
}

/* The one file of that name that is mapped lies in `folder`. */
static void check_library(const char* folder) {
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[4096];
  unsigned mapped = 0;
  CHECK(NULL != maps);
  while (NULL != fgets(line, sizeof line, maps)) {
    const char* path = strchr(line, '/');
    if (NULL == path || NULL == strstr(path, "/libpmix.so")) continue;
    if (0 != strncmp(path, folder, strlen(folder))) fprintf(stderr, "loaded: %s", path);
    CHECK(0 == strncmp(path, folder, strlen(folder)));
    ++mapped;
  }
  CHECK(0 != mapped);
  fclose(maps);
}

int main(int argc, char** argv) {
  const unsigned ranks = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
  CHECK(argc == 3);
  check_library(argv[2]);
  CHECK(NULL == pmix_framework_names[0]);
  if (0 == ranks) return 0; /* no launcher: only which library it is */
  WORKS(PMIx_Init(&self, NULL, 0));
  unload_job_values(ranks);
  ask_for_sets();
  make_group(ranks);
  if (0 == self.rank) printf("ok %u\n", ranks);
  WORKS(PMIx_Finalize(NULL, 0));
  return 0;
}
