// SPDX-License-Identifier: BSD-3-Clause
// A rank of the tests about names that runs share: it reads lines "RANK WORD ...", and does and answers those
// of its own rank, one line each. A lookup's answer is the status, the value, and the publisher.
//   publish KEY VALUE RANGE PERSISTENCE, lookup KEY, wait KEY SECONDS, unpublish KEY, finalize, end
#include <pmix.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pmix_proc_t me;

static pmix_data_range_t range_of(const char* word) {
  if (strcmp(word, "global") == 0) return PMIX_RANGE_GLOBAL;
  if (strcmp(word, "local") == 0) return PMIX_RANGE_LOCAL;
  if (strcmp(word, "namespace") == 0) return PMIX_RANGE_NAMESPACE;
  return PMIX_RANGE_SESSION;
}

static pmix_persistence_t persistence_of(const char* word) {
  if (strcmp(word, "proc") == 0) return PMIX_PERSIST_PROC;
  if (strcmp(word, "first-read") == 0) return PMIX_PERSIST_FIRST_READ;
  if (strcmp(word, "session") == 0) return PMIX_PERSIST_SESSION;
  return PMIX_PERSIST_APP;
}

static void publish(const char* words) {
  char key[64] = "", range[16] = "", persistence[16] = "";
  unsigned value = 0;
  if (sscanf(words, "%63s %u %15s %15s", key, &value, range, persistence) < 2) exit(2);
  const pmix_data_range_t said = range_of(range);
  const pmix_persistence_t lasts = persistence_of(persistence);
  pmix_info_t infos[3];
  PMIX_INFO_LOAD(&infos[0], key, &value, PMIX_UINT32);
  PMIX_INFO_LOAD(&infos[1], PMIX_RANGE, &said, PMIX_DATA_RANGE);
  PMIX_INFO_LOAD(&infos[2], PMIX_PERSISTENCE, &lasts, PMIX_PERSIST);
  printf("%s\n", PMIx_Error_string(PMIx_Publish(infos, 3)));
}

/// seconds: 0: it does not wait.
static void look_up(const char* words, bool waits) {
  char key[64] = "";
  int seconds = 0;
  if (sscanf(words, "%63s %d", key, &seconds) < 1) exit(2);
  pmix_info_t infos[2];
  PMIX_INFO_LOAD(&infos[0], PMIX_WAIT, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  strncpy(found.key, key, sizeof found.key - 1);
  const pmix_status_t status = PMIx_Lookup(&found, 1, infos, waits ? 2 : 0);
  if (status == PMIX_SUCCESS)
    printf("%s %u %s:%u\n", PMIx_Error_string(status), found.value.data.uint32, found.proc.nspace,
           found.proc.rank);
  else
    printf("%s\n", PMIx_Error_string(status));
  PMIX_PDATA_DESTRUCT(&found);
}

static void unpublish(const char* key) {
  char text[64] = "";
  sscanf(key, "%63s", text);
  char* keys[] = {text, NULL};
  printf("%s\n", PMIx_Error_string(PMIx_Unpublish(keys, NULL, 0)));
}

int main(void) {
  char line[256], word[16];
  bool is_there = true;
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  if (me.rank == 0) printf("%s\n", me.nspace);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    unsigned rank = 0;
    int at = 0;
    if (sscanf(line, "%u %15s%n", &rank, word, &at) < 2) return 2;
    if (strcmp(word, "end") == 0) break;
    if (rank != me.rank) continue;
    if (strcmp(word, "publish") == 0) publish(line + at);
    if (strcmp(word, "lookup") == 0) look_up(line + at, false);
    if (strcmp(word, "wait") == 0) look_up(line + at, true);
    if (strcmp(word, "unpublish") == 0) unpublish(line + at);
    if (strcmp(word, "finalize") == 0) {
      is_there = false;
      printf("%s\n", PMIx_Error_string(PMIx_Finalize(NULL, 0)));
    }
    fflush(stdout);
  }
  return is_there && PMIx_Finalize(NULL, 0) != PMIX_SUCCESS;
}
