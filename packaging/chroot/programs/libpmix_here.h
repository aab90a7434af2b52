// SPDX-License-Identifier: BSD-3-Clause
// Which libpmix this process has loaded, by itself or through a library.
#include <stdio.h>
#include <string.h>

static inline const char* libpmix_here(void) {
  static char path[512] = "no libpmix";
  char line[640];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
    char* at = strchr(line, '/');
    if (at == NULL || strstr(at, "/libpmix.so") == NULL) continue;
    at[strcspn(at, "\n")] = 0;
    snprintf(path, sizeof path, "%s", at);
  }
  if (maps != NULL) fclose(maps);
  return path;
}
