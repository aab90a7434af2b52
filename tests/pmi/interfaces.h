// SPDX-License-Identifier: BSD-3-Clause
// What the programs share. Each is told how many ranks there are, and how many on each node, which follow
// each other.
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      fprintf(stderr, "%s:%d: rank %d: not true: %s\n", __FILE__, __LINE__, rank, #condition); \
      exit(1);                                                                                 \
    }                                                                                          \
  } while (0)

static int rank = -1, size = -1;
