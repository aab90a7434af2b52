// SPDX-License-Identifier: BSD-3-Clause
// The same program as C++: the macros must be valid there too, and the API's structures the same.
#include "macros.c"  // NOLINT(bugprone-suspicious-include)
