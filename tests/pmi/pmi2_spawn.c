// SPDX-License-Identifier: BSD-3-Clause
// A program of PMI-2 that starts more of itself, and reads what the children have put, as the children read
// what it has put. Prototypes as Debian's libpmi2-0-dev has them.
#include <unistd.h>

#include "interfaces.h"

typedef struct MPID_Info {
  int handle, pobj_mutex, ref_count;
  struct MPID_Info* next;
  char *key, *value;
} MPID_Info;
typedef struct {
  int (*read)(void*, int, void*);
  int (*write)(const void*, int, void*);
  void* ctx;
  int isMaster;
} PMI2_Connect_comm_t;

int PMI2_Init(int* spawned, int* size, int* rank, int* appnum);
int PMI2_Finalize(void);
int PMI2_Job_GetId(char id[], int room);
int PMI2_Job_Connect(const char id[], PMI2_Connect_comm_t* way);
int PMI2_Job_Disconnect(const char id[]);
int PMI2_Job_Spawn(int count, const char* programs[], int argument_counts[], const char** arguments[],
                   const int ranks[], const int info_counts[], const MPID_Info* infos[], int preput_count,
                   const MPID_Info* preput[], char id[], int room, int errors[]);
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Fence(void);
int PMI2_KVS_Get(const char* id, int source, const char key[], char value[], int room, int* length);
int PMI2_Info_GetJobAttr(const char name[], char value[], int room, int* found);
int PMI2_Nameserv_publish(const char service[], const void* info, const char port[]);
int PMI2_Nameserv_lookup(const char service[], const void* info, char port[], int room);

enum { success = 0, fail = -1, not_initialized = 1, invalid_argument = 3, invalid_length = 8, children = 3 };

static int be_child(char** argv, int spawned, int number) {
  char value[1024], key[64];
  int found = 0, length = 0;
  CHECK(spawned == 1 && size == children && number == (rank == 0 ? 0 : 1));
  CHECK(PMI2_Info_GetJobAttr("PARENT_ROOT_PORT_NAME", value, sizeof value, &found) == success && found == 1);
  CHECK(strcmp(value, "tcp://here, there") == 0);
  CHECK(PMI2_KVS_Get(NULL, -1, "PARENT_ROOT_PORT_NAME", value, sizeof value, &length) == success);
  CHECK(PMI2_Job_Connect(argv[2], NULL) == success);
  CHECK(PMI2_KVS_Get(argv[2], 0, "of rank 0", value, sizeof value, &length) == success);
  CHECK(strcmp(value, "a parent's") == 0);
  snprintf(key, sizeof key, "of child %d", rank);
  CHECK(PMI2_KVS_Put(key, "a child's") == success);
  CHECK(PMI2_KVS_Fence() == success);
  while (PMI2_Nameserv_lookup("parents have seen it", NULL, value, sizeof value) != success) usleep(1000);
  CHECK(PMI2_Finalize() == success);
  return 0;
}

/// What each child has put, by its rank and without.
static void read_of_children(const char* id) {
  PMI2_Connect_comm_t way = {NULL, NULL, &way, 7};
  char key[64], value[1024];
  int length = 0;
  CHECK(PMI2_KVS_Get(id, 0, "of child 0", value, sizeof value, &length) == invalid_argument);
  CHECK(PMI2_Job_Connect("no such job", NULL) == fail);
  CHECK(PMI2_Job_Connect(NULL, NULL) == invalid_argument);
  CHECK(PMI2_Job_Connect(id, &way) == success);
  CHECK(way.read == NULL && way.write == NULL && way.ctx == NULL && way.isMaster == 0);
  for (int child = children - 1; child >= 0; --child) {
    snprintf(key, sizeof key, "of child %d", child);
    while (PMI2_KVS_Get(id, child, key, value, sizeof value, &length) != success) usleep(1000);
    CHECK(strcmp(value, "a child's") == 0);
    CHECK(PMI2_KVS_Get(id, -1, key, value, sizeof value, &length) == success);
  }
  CHECK(PMI2_KVS_Get(id, 0, "no such key", value, sizeof value, &length) == fail);
  CHECK(PMI2_KVS_Get(id, children, "of child 0", value, sizeof value, &length) == fail);
  CHECK(PMI2_Job_Disconnect(id) == success);
  CHECK(PMI2_Job_Disconnect(id) == fail);
  CHECK(PMI2_KVS_Get(id, 0, "of child 0", value, sizeof value, &length) == invalid_argument);
}

static void spawn_children(const char* program, const char* own_id, char* id, int room) {
  const char *arguments[] = {"child", own_id, "not of its arguments", NULL}, *programs[] = {program, program},
             **all_arguments[] = {arguments, arguments};
  const MPID_Info port = {0, 0, 0, NULL, (char*)"PARENT_ROOT_PORT_NAME", (char*)"tcp://here, there"};
  const MPID_Info* preput[] = {&port};
  const int ranks[] = {1, children - 1};
  int counts[] = {2, 2}, errors[] = {77, 77};
  char few[2];
  CHECK(PMI2_Job_Spawn(0, programs, counts, all_arguments, ranks, NULL, NULL, 0, NULL, id, room, errors) ==
        invalid_argument);
  const char* missing[] = {"/no/such/program"};
  CHECK(PMI2_Job_Spawn(1, missing, NULL, NULL, ranks, NULL, NULL, 0, NULL, few, sizeof few, errors) == fail);
  CHECK(errors[0] == fail && errors[1] == 77);
  CHECK(PMI2_Job_Spawn(2, programs, counts, all_arguments, ranks, NULL, NULL, 1, preput, id, room, errors) ==
        success);
  CHECK(errors[0] == success && errors[1] == success);
}

int main(int argc, char** argv) {
  int spawned = -1, number = -1;
  char own_id[256], id[256];
  if (argc < 3) return 2;
  CHECK(PMI2_Job_Connect("a job", NULL) == not_initialized);
  CHECK(PMI2_Init(&spawned, &size, &rank, &number) == success);
  if (strcmp(argv[1], "child") == 0) return be_child(argv, spawned, number);
  CHECK(spawned == 0 && size == atoi(argv[1]));
  CHECK(PMI2_Job_GetId(own_id, sizeof own_id) == success);
  if (rank == 0) CHECK(PMI2_KVS_Put("of rank 0", "a parent's") == success);
  CHECK(PMI2_KVS_Fence() == success);
  if (rank == 0) {
    spawn_children(argv[0], own_id, id, sizeof id);
    CHECK(PMI2_Nameserv_publish("children", NULL, id) == success);
  }
  while (PMI2_Nameserv_lookup("children", NULL, id, sizeof id) != success) usleep(1000);
  read_of_children(id);
  CHECK(PMI2_KVS_Fence() == success);
  if (rank == 0) {
    CHECK(PMI2_Nameserv_publish("parents have seen it", NULL, "yes") == success);
    printf("ok pmi2_spawn %d\n", size);
    // The values of the children go with their job, and its name with them.
    while (PMI2_Job_Connect(id, NULL) == success) usleep(1000);
  }
  CHECK(PMI2_KVS_Fence() == success);
  CHECK(PMI2_Finalize() == success);
  return 0;
}
