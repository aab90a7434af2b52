// SPDX-License-Identifier: BSD-3-Clause
// A program of PMI-1 that starts more of itself: rank 0 asks for two programs as one job, the children find
// what was put for them and publish that they did, and a spawn of what is not there starts nothing.
// Prototypes as Debian's libpmi0-dev has them.
#include <unistd.h>

#include "interfaces.h"

typedef struct {
  char* key;
  char* val;
} PMI_keyval_t;

int PMI_Init(int* spawned);
int PMI_Finalize(void);
int PMI_Get_size(int* size);
int PMI_Get_rank(int* rank);
int PMI_Get_appnum(int* number);
int PMI_Barrier(void);
int PMI_KVS_Get_my_name(char name[], int length);
int PMI_KVS_Put(const char space[], const char key[], const char value[]);
int PMI_KVS_Get(const char space[], const char key[], char value[], int length);
int PMI_Publish_name(const char service[], const char port[]);
int PMI_Lookup_name(const char service[], char port[]);
int PMI_Spawn_multiple(int count, const char* programs[], const char** arguments[], const int ranks[],
                       const int info_counts[], const PMI_keyval_t* infos[], int preput_count,
                       const PMI_keyval_t preput[], int errors[]);

enum { success = 0, fail = -1, not_initialized = 1, invalid_argument = 3, children = 3 };

static char greeting[] = "tag#0$connentry=a, b:c\ttail", empty[] = "";

/// Rank 1 and 2 of the children are of the second program.
static int be_child(char** argv, int spawned) {
  char space[256], value[1024], folder[256];
  int number = -1;
  CHECK(spawned == 1 && size == children);
  CHECK(strcmp(argv[2], "") == 0 && strcmp(argv[3], "with a blank = sign") == 0);
  CHECK(PMI_Get_appnum(&number) == success && number == (rank == 0 ? 0 : 1));
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == success);
  CHECK(PMI_KVS_Get(space, "PARENT_ROOT_PORT_NAME", value, sizeof value) == success);
  CHECK(strcmp(value, greeting) == 0);
  CHECK(PMI_KVS_Get(space, "another", value, sizeof value) == success && strcmp(value, empty) == 0);
  CHECK(PMI_KVS_Get(space, "of the parent alone", value, sizeof value) == fail);
  if (rank != 0) CHECK(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") == 0);
  CHECK(PMI_Barrier() == success);
  if (rank == children - 1) CHECK(PMI_Publish_name("children", greeting) == success);
  // Names go with the job that published them.
  while (PMI_Lookup_name("parents", value) != success) usleep(1000);
  CHECK(PMI_Finalize() == success);
  return 0;
}

static void spawn_children(const char* program) {
  const char* arguments[] = {"child", "", "with a blank = sign", NULL};
  const char *programs[] = {program, program}, **all_arguments[] = {arguments, arguments};
  PMI_keyval_t root = {(char*)"wdir", (char*)"/"}, not_known = {(char*)"soft", (char*)"1:2"};
  const PMI_keyval_t *infos[] = {&not_known, &root},
                     preput[] = {{(char*)"PARENT_ROOT_PORT_NAME", greeting}, {(char*)"another", empty}};
  const int ranks[] = {1, children - 1}, info_counts[] = {1, 1};
  int errors[] = {77, 77};
  CHECK(PMI_Spawn_multiple(2, programs, all_arguments, ranks, info_counts, infos, 2, preput, errors) ==
        success);
  CHECK(errors[0] == success && errors[1] == success);
}

static void refuse_what_is_wrong(const char* program) {
  const char *programs[] = {program, "/no/such/program"}, *nothing[] = {NULL};
  const int ranks[] = {1, 1}, none[] = {0};
  char longer[1100];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  const PMI_keyval_t too_long = {(char*)"key", longer};
  int errors[] = {77, 77};
  CHECK(PMI_Spawn_multiple(2, programs, NULL, ranks, NULL, NULL, 0, NULL, errors) == fail);
  CHECK(errors[0] == fail && errors[1] == fail);
  CHECK(PMI_Spawn_multiple(0, programs, NULL, ranks, NULL, NULL, 0, NULL, NULL) == invalid_argument);
  CHECK(PMI_Spawn_multiple(1, NULL, NULL, ranks, NULL, NULL, 0, NULL, NULL) == invalid_argument);
  CHECK(PMI_Spawn_multiple(1, nothing, NULL, ranks, NULL, NULL, 0, NULL, NULL) == invalid_argument);
  CHECK(PMI_Spawn_multiple(1, programs, NULL, none, NULL, NULL, 0, NULL, NULL) == invalid_argument);
  CHECK(PMI_Spawn_multiple(1, programs, NULL, ranks, NULL, NULL, 1, &too_long, NULL) == invalid_argument);
  CHECK(PMI_Spawn_multiple(1, programs, NULL, ranks, NULL, NULL, 1, NULL, NULL) == invalid_argument);
}

int main(int argc, char** argv) {
  int spawned = -1;
  if (argc < 3) return 2;
  CHECK(PMI_Spawn_multiple(1, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL) == not_initialized);
  CHECK(PMI_Init(&spawned) == success);
  CHECK(PMI_Get_rank(&rank) == success && PMI_Get_size(&size) == success);
  if (strcmp(argv[1], "child") == 0) return be_child(argv, spawned);
  CHECK(spawned == 0 && size == atoi(argv[1]));
  char space[256], port[256];
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == success);
  CHECK(PMI_KVS_Get(space, "PARENT_ROOT_PORT_NAME", port, sizeof port) == fail);
  CHECK(PMI_KVS_Put(space, "of the parent alone", "x") == success);
  CHECK(PMI_Barrier() == success);
  if (rank == 0) {
    refuse_what_is_wrong(argv[0]);
    spawn_children(argv[0]);
  }
  while (PMI_Lookup_name("children", port) != success) usleep(1000);
  CHECK(strcmp(port, greeting) == 0);
  CHECK(PMI_Barrier() == success);
  if (rank == 0) {
    CHECK(PMI_Publish_name("parents", "have seen it") == success);
    printf("ok pmi1_spawn %d\n", size);
    fflush(stdout);
    // The name of the children goes with their end.
    while (PMI_Lookup_name("children", port) == success) usleep(1000);
  }
  CHECK(PMI_Barrier() == success);
  CHECK(PMI_Finalize() == success);
  return 0;
}
