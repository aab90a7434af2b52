// SPDX-License-Identifier: BSD-3-Clause
// Each rank puts its number, and after a fence reads that of the next rank.
#include <pmix.h>
#include <string.h>

#include "libpmix_here.h"

static int fail(const char* what, pmix_status_t status) {
  fprintf(stderr, "pmix_ranks: %s: %s\n", what, PMIx_Error_string(status));
  return 1;
}

int main(void) {
  pmix_proc_t me, other;
  pmix_value_t value, *read;
  pmix_status_t status = PMIx_Init(&me, NULL, 0);
  if (status != PMIX_SUCCESS) return fail("PMIx_Init", status);
  memset(&other, 0, sizeof other);
  strcpy(other.nspace, me.nspace);
  other.rank = PMIX_RANK_WILDCARD;
  status = PMIx_Get(&other, PMIX_JOB_SIZE, NULL, 0, &read);
  if (status != PMIX_SUCCESS) return fail("PMIx_Get of the job's size", status);
  const unsigned size = read->data.uint32;

  memset(&value, 0, sizeof value);
  value.type = PMIX_UINT32;
  value.data.uint32 = me.rank;
  status = PMIx_Put(PMIX_GLOBAL, "number", &value);
  if (status == PMIX_SUCCESS) status = PMIx_Commit();
  if (status == PMIX_SUCCESS) status = PMIx_Fence(NULL, 0, NULL, 0);
  if (status != PMIX_SUCCESS) return fail("a fence", status);
  other.rank = (me.rank + 1) % size;
  status = PMIx_Get(&other, "number", NULL, 0, &read);
  if (status != PMIX_SUCCESS || read->data.uint32 != other.rank) return fail("PMIx_Get of a number", status);
  printf("rank %u of %u on %s\n", me.rank, size, libpmix_here());
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
