// SPDX-License-Identifier: BSD-3-Clause
// A client of whatever PMIx library it was linked with; its status says whether that found a server.
#include <pmix.h>

int main(void) {
  pmix_proc_t me;
  return PMIx_Init(&me, NULL, 0) == PMIX_SUCCESS ? 0 : 3;
}
