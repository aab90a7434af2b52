// SPDX-License-Identifier: BSD-3-Clause
// A rank of PMI-1 that puts any bytes: pmi1_puts KEY VALUE..., then a barrier with all others.
#include <stdio.h>

int PMI_Init(int* spawned);
int PMI_Finalize(void);
int PMI_Barrier(void);
int PMI_KVS_Get_my_name(char name[], int length);
int PMI_KVS_Put(const char space[], const char key[], const char value[]);
int PMI_KVS_Commit(const char space[]);

static int failed(const char* call) {
  fprintf(stderr, "pmi1_puts: %s failed\n", call);
  return 1;
}

int main(int count, char** words) {
  int spawned;
  char space[256];
  if (PMI_Init(&spawned) != 0) return failed("PMI_Init");
  if (PMI_KVS_Get_my_name(space, sizeof space) != 0) return failed("PMI_KVS_Get_my_name");
  for (int i = 1; i + 1 < count; i += 2)
    if (PMI_KVS_Put(space, words[i], words[i + 1]) != 0) return failed("PMI_KVS_Put");
  if (PMI_KVS_Commit(space) != 0) return failed("PMI_KVS_Commit");
  if (PMI_Barrier() != 0) return failed("PMI_Barrier");
  return PMI_Finalize() == 0 ? 0 : failed("PMI_Finalize");
}
