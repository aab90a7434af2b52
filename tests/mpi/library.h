// SPDX-License-Identifier: BSD-3-Clause
// Which file a process has as its libpmix. Under a launcher that is not ours the test that does not look
// proves nothing: a rank, or its server, with another library of that name would pass it as well.
#pragma once

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/// 1 if each libpmix that the process has mapped is the file `wanted`, and there is at least one. By device
/// and inode, seen from that process: a library that is mounted over another has the other's path.
static inline int has_library(pid_t process, const char* wanted) {
  char path[PATH_MAX + 64], line[PATH_MAX + 128], file[PATH_MAX];
  struct stat its, mine;
  int found = 0;
  if (stat(wanted, &mine) != 0) return 0;
  snprintf(path, sizeof path, "/proc/%d/maps", (int)process);
  FILE* maps = fopen(path, "r");
  if (maps == NULL) return 0;
  while (found >= 0 && fgets(line, sizeof line, maps) != NULL) {
    if (strstr(line, "/libpmix.so") == NULL || sscanf(line, "%*s %*s %*s %*s %*s %4095s", file) != 1)
      continue;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)process, file);
    found = stat(path, &its) == 0 && its.st_dev == mine.st_dev && its.st_ino == mine.st_ino ? 1 : -1;
  }
  fclose(maps);
  return found == 1;
}
