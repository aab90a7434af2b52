// SPDX-License-Identifier: BSD-3-Clause
// A program of PMI-2, linked with libpmi2.so.0: keys of the job, attributes of the node and the job.
// Prototypes as Debian's libpmi2-0-dev has them.
#include "interfaces.h"

int PMI2_Init(int* spawned, int* size, int* rank, int* appnum);
int PMI2_Initialized(void);
int PMI2_Finalize(void);
int PMI2_Job_GetId(char id[], int room);
int PMI2_Job_GetRank(int* rank);
int PMI2_Info_GetSize(int* size);
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Fence(void);
int PMI2_KVS_Get(const char* id, int source, const char key[], char value[], int room, int* length);
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);
int PMI2_Info_GetNodeAttr(const char name[], char value[], int room, int* found, int wait);
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int room, int* length, int* found);
int PMI2_Info_GetJobAttr(const char name[], char value[], int room, int* found);
int PMI2_Nameserv_publish(const char service[], const void* info, const char port[]);
int PMI2_Nameserv_lookup(const char service[], const void* info, char port[], int room);
int PMI2_Nameserv_unpublish(const char service[], const void* info);

enum { success = 0, fail = -1, not_initialized = 1, invalid_argument = 3, invalid_length = 8 };

static void services(void) {
  char port[256] = "";
  CHECK(PMI2_Nameserv_unpublish("service", NULL) == fail);
  CHECK(PMI2_Nameserv_publish(NULL, NULL, "port") == invalid_argument);
  CHECK(PMI2_KVS_Fence() == success);
  if (rank == 0) CHECK(PMI2_Nameserv_publish("service", NULL, "tcp://here:77") == success);
  CHECK(PMI2_KVS_Fence() == success);
  CHECK(PMI2_Nameserv_lookup("service", NULL, port, sizeof port) == success);
  CHECK(strcmp(port, "tcp://here:77") == 0);
  CHECK(PMI2_Nameserv_lookup("service", NULL, port, 5) == invalid_length);
  CHECK(PMI2_Nameserv_lookup("another", NULL, port, sizeof port) == fail);
  CHECK(PMI2_KVS_Fence() == success);
  if (rank == 0) CHECK(PMI2_Nameserv_unpublish("service", NULL) == success);
  CHECK(PMI2_KVS_Fence() == success);
  CHECK(PMI2_Nameserv_lookup("service", NULL, port, sizeof port) == fail);
}

static void exchange(const char* id) {
  char key[64], value[1024];
  int length = 0;
  snprintf(key, sizeof key, "card of %d here", rank);
  snprintf(value, sizeof value, "value %d", rank);
  CHECK(PMI2_KVS_Put(key, value) == success);
  CHECK(PMI2_KVS_Fence() == success);
  for (int other = 0; other < size; ++other) {
    char expected[64];
    snprintf(expected, sizeof expected, "value %d", other);
    snprintf(key, sizeof key, "card of %d here", other);
    CHECK(PMI2_KVS_Get(id, other, key, value, sizeof value, &length) == success);
    CHECK(strcmp(value, expected) == 0 && length == (int)strlen(expected));
    CHECK(PMI2_KVS_Get(NULL, -1, key, value, sizeof value, &length) == success);
    CHECK(strcmp(value, expected) == 0);
    CHECK(PMI2_KVS_Get(NULL, (other + 1) % size, key, value, 3, &length) == success);
    CHECK(length == -(int)(strlen(expected) + 1));
  }
  CHECK(PMI2_KVS_Get(NULL, 0, "nobody has put this", value, sizeof value, &length) == fail);
  CHECK(PMI2_KVS_Get("other", 0, key, value, sizeof value, &length) == invalid_argument);
}

/// The first rank of each node puts it, and the others wait for it; no rank of another node sees it.
static void share_on_node(int local) {
  char value[64], expected[64];
  int found = 1, numbers[4] = {0}, length = 0;
  snprintf(expected, sizeof expected, "7,-8,%d", rank / local);
  CHECK(PMI2_Info_GetNodeAttr("no such", value, sizeof value, &found, 0) == success && found == 0);
  if (rank % local == 0) CHECK(PMI2_Info_PutNodeAttr("numbers", expected) == success);
  CHECK(PMI2_Info_GetNodeAttr("numbers", value, sizeof value, &found, 1) == success && found != 0);
  CHECK(strcmp(value, expected) == 0);
  CHECK(PMI2_Info_GetNodeAttrIntArray("numbers", numbers, 4, &length, &found) == success && found != 0);
  CHECK(length == 3 && numbers[0] == 7 && numbers[1] == -8 && numbers[2] == rank / local);
  CHECK(PMI2_Info_GetNodeAttrIntArray("numbers", numbers, 2, &length, &found) == success && length == 2);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int ranks = atoi(argv[1]), local = atoi(argv[2]);
  int spawned = -1, appnum = -1, value = -1, found = 0;
  char id[256], text[1024], expected[64];
  CHECK(PMI2_Initialized() == 0);
  CHECK(PMI2_KVS_Fence() == not_initialized);
  CHECK(PMI2_Init(&spawned, &size, &rank, &appnum) == success);
  CHECK(PMI2_Initialized() != 0);
  CHECK(spawned == 0 && appnum == 0 && size == ranks && rank >= 0 && rank < size);
  CHECK(PMI2_Job_GetRank(&value) == success && value == rank);
  CHECK(PMI2_Info_GetSize(&value) == success && value == local);
  CHECK(PMI2_Job_GetId(id, sizeof id) == success);
  snprintf(expected, sizeof expected, "(vector,(0,%d,%d))", size / local, local);
  CHECK(PMI2_Info_GetJobAttr("PMI_process_mapping", text, sizeof text, &found) == success && found != 0);
  CHECK(strcmp(text, expected) == 0);
  CHECK(PMI2_Info_GetJobAttr("universeSize", text, sizeof text, &found) == success && found != 0);
  CHECK(atoi(text) >= size);
  CHECK(PMI2_Info_GetJobAttr("no such", text, sizeof text, &found) == success && found == 0);
  services();
  exchange(id);
  share_on_node(local);
  CHECK(PMI2_KVS_Fence() == success);
  if (rank == 0) printf("ok pmi2 %d\n", size);
  CHECK(PMI2_Finalize() == success);
  return 0;
}
