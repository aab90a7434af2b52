// SPDX-License-Identifier: BSD-3-Clause
// A program of PMI-1, linked with libpmi.so.0: each rank reads what all others have put, twice. Prototypes as
// Debian's libpmi0-dev has them.
#include "interfaces.h"

int PMI_Init(int* spawned);
int PMI_Initialized(int* initialized);
int PMI_Finalize(void);
int PMI_Abort(int exit_code, const char message[]);
int PMI_Get_size(int* size);
int PMI_Get_rank(int* rank);
int PMI_Get_universe_size(int* size);
int PMI_Get_appnum(int* number);
int PMI_Get_clique_size(int* size);
int PMI_Get_clique_ranks(int ranks[], int length);
int PMI_Barrier(void);
int PMI_KVS_Get_my_name(char name[], int length);
int PMI_KVS_Get_name_length_max(int* length);
int PMI_KVS_Get_key_length_max(int* length);
int PMI_KVS_Get_value_length_max(int* length);
int PMI_KVS_Put(const char space[], const char key[], const char value[]);
int PMI_KVS_Commit(const char space[]);
int PMI_KVS_Get(const char space[], const char key[], char value[], int length);
int PMI_Publish_name(const char service[], const char port[]);
int PMI_Unpublish_name(const char service[]);
int PMI_Lookup_name(const char service[], char port[]);

enum {
  success = 0,
  fail = -1,
  not_initialized = 1,
  invalid_argument = 3,
  invalid_key = 4,
  invalid_key_length = 5,
  invalid_value_length = 7,
  invalid_length = 8,
  invalid_space = 14
};

static void refuse_what_is_wrong(const char* space) {
  char value[1024], longer[2048];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  CHECK(PMI_KVS_Put("other", "key", "value") == invalid_space);
  CHECK(PMI_KVS_Put(space, NULL, "value") == invalid_key);
  CHECK(PMI_KVS_Put(space, longer, "value") == invalid_key_length);
  CHECK(PMI_KVS_Put(space, "key", longer) == invalid_value_length);
  CHECK(PMI_KVS_Get(space, "nobody has put this", value, sizeof value) == fail);
  CHECK(PMI_Publish_name(NULL, "port") == invalid_argument);
  CHECK(PMI_Publish_name("", "port") == invalid_argument);
  CHECK(PMI_Publish_name("service", longer) == invalid_length);
  CHECK(PMI_Lookup_name(longer, value) == invalid_argument);
}

/// The first publishes, all look it up, no other takes it back.
static void services(void) {
  char port[256] = "";
  if (rank == 0) CHECK(PMI_Publish_name("service", "tcp://here:77") == success);
  CHECK(PMI_Barrier() == success);
  CHECK(PMI_Lookup_name("service", port) == success && strcmp(port, "tcp://here:77") == 0);
  CHECK(PMI_Lookup_name("another", port) == fail);
  if (rank != 0) CHECK(PMI_Publish_name("service", "elsewhere") == fail);
  if (rank != 0) CHECK(PMI_Unpublish_name("service") == fail);
  CHECK(PMI_Barrier() == success);
  if (rank == 0) CHECK(PMI_Unpublish_name("service") == success);
  CHECK(PMI_Barrier() == success);
  CHECK(PMI_Lookup_name("service", port) == fail);
}

static void exchange(const char* space, int round) {
  char key[64], value[1024], expected[1024];
  snprintf(key, sizeof key, "card-%d", rank);
  snprintf(value, sizeof value, "of rank %d in round %d", rank, round);
  CHECK(PMI_KVS_Put(space, key, value) == success);
  snprintf(key, sizeof key, "%d-first", rank);  // a key that does not end with its rank
  CHECK(PMI_KVS_Put(space, key, value) == success);
  CHECK(PMI_KVS_Commit(space) == success);
  CHECK(PMI_Barrier() == success);
  for (int other = 0; other < size; ++other) {
    snprintf(expected, sizeof expected, "of rank %d in round %d", other, round);
    snprintf(key, sizeof key, "card-%d", other);
    CHECK(PMI_KVS_Get(space, key, value, sizeof value) == success);
    CHECK(strcmp(value, expected) == 0);
    snprintf(key, sizeof key, "%d-first", other);
    CHECK(PMI_KVS_Get(space, key, value, sizeof value) == success);
    CHECK(strcmp(value, expected) == 0);
    CHECK(PMI_KVS_Get(space, key, value, (int)strlen(expected)) == invalid_length);
  }
  CHECK(PMI_Barrier() == success);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int ranks = atoi(argv[1]), local = atoi(argv[2]);
  int value = -1;
  CHECK(PMI_Initialized(&value) == success && value == 0);
  CHECK(PMI_Get_size(&value) == not_initialized);
  CHECK(PMI_Init(&value) == success && value == 0);
  CHECK(PMI_Initialized(&value) == success && value == 1);
  CHECK(PMI_Get_rank(&rank) == success && rank >= 0);
  CHECK(PMI_Get_size(&size) == success);
  CHECK(size == ranks && rank < size);
  CHECK(PMI_Get_universe_size(&value) == success && value >= size);
  CHECK(PMI_Get_appnum(&value) == success && value == 0);
  CHECK(PMI_Get_clique_size(&value) == success && value == local);
  int* clique = calloc((size_t)local, sizeof *clique);
  CHECK(clique != NULL && PMI_Get_clique_ranks(clique, local) == success);
  for (int i = 0; i < local; ++i) CHECK(clique[i] == rank / local * local + i);
  CHECK(PMI_Get_clique_ranks(clique, local - 1) == invalid_length);
  free(clique);

  int name_max = 0, key_max = 0, value_max = 0;
  CHECK(PMI_KVS_Get_name_length_max(&name_max) == success && name_max == 256);
  CHECK(PMI_KVS_Get_key_length_max(&key_max) == success && key_max == 64);
  CHECK(PMI_KVS_Get_value_length_max(&value_max) == success && value_max == 1024);
  char space[256], text[1024], expected[64];
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == success);
  snprintf(expected, sizeof expected, "(vector,(0,%d,%d))", size / local, local);
  CHECK(PMI_KVS_Get(space, "PMI_process_mapping", text, sizeof text) == success);
  CHECK(strcmp(text, expected) == 0);
  refuse_what_is_wrong(space);
  services();
  for (int round = 0; round < 3; ++round) exchange(space, round);
  if (rank == 0) printf("ok pmi1 %d\n", size);
  CHECK(PMI_Finalize() == success);
  CHECK(PMI_Finalize() == not_initialized);
  return 0;
}
