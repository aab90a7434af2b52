// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <cstdlib>

namespace weft::simulation {

/// Ends the process where the simulation itself cannot be: nothing that it simulates may.
inline void require(bool is_there, const char* what) {
  if (is_there) return;
  std::fprintf(stderr, "simulation: there is not %s\n", what);
  std::abort();
}

}  // namespace weft::simulation
