// SPDX-License-Identifier: BSD-3-Clause
// The shortest rank there is: what a launcher's own cost is measured with.
//   weft_trivial        PMIx_Init, PMIx_Finalize
//   weft_trivial exit   linked to the library, calls nothing
#include <stdio.h>
#include <string.h>

#include "pmix.h"

int main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "exit") == 0) return 0;
  pmix_proc_t me;
  const pmix_status_t joined = PMIx_Init(&me, NULL, 0);
  if (joined != PMIX_SUCCESS) {
    // A singleton would make a launch look cheap, so it is a failure here.
    fprintf(stderr, "weft_trivial: PMIx_Init: %s\n", PMIx_Error_string(joined));
    return 1;
  }
  return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
