// SPDX-License-Identifier: BSD-3-Clause
#include "pmix/src/include/pmix_frameworks.h"

const char* const pmix_framework_names[] = {nullptr};
