// SPDX-License-Identifier: BSD-3-Clause
// The shortest possible rank, to measure a launcher's own cost.
//   weft_trivial        PMIx_Init, PMIx_Finalize
//   weft_trivial exit   linked to the library, calls nothing
//   weft_trivial report STATUS   prints its rank; the last rank exits with STATUS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmix.h"

static int report(const pmix_proc_t* me, const char* status) {
  pmix_proc_t all = *me;
  all.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* size = NULL;
  if (PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &size) != PMIX_SUCCESS || size->type != PMIX_UINT32) return 1;
  const unsigned n = size->data.uint32;
  PMIX_VALUE_RELEASE(size);
  printf("weft_trivial: rank %u of %u\n", me->rank, n);
  fflush(stdout);
  return me->rank + 1 == n ? atoi(status) : 0;
}

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "exit") == 0) return 0;
  pmix_proc_t me;
  const pmix_status_t joined = PMIx_Init(&me, NULL, 0);
  if (joined != PMIX_SUCCESS) {
    // A singleton would make a launch look cheap, so it is a failure here.
    fprintf(stderr, "weft_trivial: PMIx_Init: %s\n", PMIx_Error_string(joined));
    return 1;
  }
  const int status = argc > 2 && strcmp(argv[1], "report") == 0 ? report(&me, argv[2]) : 0;
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? status : 1;
}
